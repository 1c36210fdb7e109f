package etcdtest_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest.init.func1.1"))
}
