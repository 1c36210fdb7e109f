package kit

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/etcdjoin/etcdjoin/etcdtest"
)

// parallel is how many tests of a package run at once: they wait for etcd far more
// than they compute.
const parallel = "4"

// Main is the TestMain of every package here: the servers of a plain run are built
// while the tests that need none run, and no goroutine is left behind.
func Main(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(parallel)
	}
	stop := etcdtest.Prepare(EveryRun...)
	code := m.Run()
	stop()
	if code == 0 {
		code = leftBehind()
	}
	os.Exit(code)
}

// forkers start processes, for as long as the tests run.
var forkers = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest.init.func1.1"),
	goleak.IgnoreAnyFunction("github.com/etcdjoin/etcdjoin/etcdtest/e2e/manifest_test.init.func1.1"),
}

// leftBehind looks until nothing is left, or it is clear that something stays: a
// connection whose other end has just gone takes a moment to notice.
func leftBehind() int {
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if err = goleak.Find(forkers...); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "left behind by the tests:", err)
	return 1
}
