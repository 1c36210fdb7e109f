package manifest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etcdjoin/etcdjoin/manifest"
	"github.com/etcdjoin/etcdjoin/version"
)

// TestEveryFormIsTheSameToEtcd: what one Spec renders to is one configuration to
// etcd, told as arguments, by variables or in a file.
func TestEveryFormIsTheSameToEtcd(t *testing.T) {
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			etcd := newOwnReader(t, release)
			for _, in := range inputs(t) {
				spec, ok := settingsFor(in, version.MustParse(release))
				if !ok {
					continue
				}
				args, err := spec.Args()
				require.NoError(t, err)
				flags := etcd.ask(question{Args: args})
				for _, form := range []manifest.Form{manifest.ConfigFile, manifest.Environment} {
					data, err := spec.Render(form)
					if err != nil {
						require.ErrorIs(t, err, manifest.ErrUnsupported)
						continue
					}
					asked, err := asEtcd(t, form, data)
					require.NoError(t, err)
					told := etcd.ask(asked)
					require.Equal(t, flags.refused == "", told.refused == "", "%s %s: %s%s", in.name, form, flags.refused, told.refused)
					assert.Empty(t, differ(flags.config, told.config, manifest.Reading{}), "%s %s", in.name, form)
				}
			}
		})
	}
}
