package etcdtest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

func TestMain(m *testing.M) {
	stop := etcdtest.Prepare(everyRun[1:]...)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest.init.func1.1"),
		goleak.Cleanup(func(code int) { stop(); os.Exit(code) }))
}
