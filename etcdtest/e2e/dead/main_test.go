package dead_test

import (
	"testing"

	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
