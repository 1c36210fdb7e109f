// Package strangers_test plays who else may answer where a member of the cluster, or
// the one to come, is meant.
package strangers_test

import (
	"testing"

	"github.com/etcdjoin/etcdjoin/etcdtest/e2e/internal/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
