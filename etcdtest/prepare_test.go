package etcdtest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsBeingPreparedCanBeEnded(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache) // so that nothing is built yet
	assert.False(t, built("3.7.3"))
	assert.False(t, built("3.6.99"), "there is none")
	Prepare("3.6.99", "3.7.3")()
	assert.False(t, built("3.7.3"))
	left, err := filepath.Glob(filepath.Join(cache, "etcdjoin", "servers", ".build-*"))
	assert.NoError(t, err)
	assert.Empty(t, left, "half a build")
}
