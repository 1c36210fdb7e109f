package etcdtest

import (
	"errors"
	"io"
	"net/url"
	"sync"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
)

// embedded is a run inside this process.
type embedded struct {
	quit chan struct{}
	once sync.Once
	hard bool // set before quit is closed
	done chan struct{}
	err  error // set before done is closed

	mu   sync.Mutex
	apis []*grpc.Server // of the client ports, once they serve
}

// startEmbedded returns at once: etcd's own start of a joiner asks the other
// members for their list first, ten seconds for each that hangs.
func startEmbedded(cfg *embed.Config) *embedded {
	r := &embedded{quit: make(chan struct{}), done: make(chan struct{})}
	r.learnOfAPIs(cfg)
	go func() {
		defer close(r.done)
		r.err = r.live(cfg)
	}()
	return r
}

func (r *embedded) live(cfg *embed.Config) error {
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer closeEtcd(etcd)
	select {
	case <-r.quit:
		if r.hard {
			r.abandonClients()
			etcd.Server.HardStop()
		}
		return nil
	case <-etcd.Server.StopNotify(): // it was removed from the cluster
		return nil
	case err := <-etcd.Err():
		return err
	}
}

// learnOfAPIs has etcd tell us of its gRPC servers when it makes them.
func (r *embedded) learnOfAPIs(cfg *embed.Config) {
	then := cfg.ServiceRegister
	cfg.ServiceRegister = func(api *grpc.Server) {
		r.mu.Lock()
		r.apis = append(r.apis, api)
		r.mu.Unlock()
		if then != nil {
			then(api)
		}
	}
}

// abandonClients closes their connections. Etcd's Close waits for seven seconds
// that open streams, such as watches, end by themselves.
func (r *embedded) abandonClients() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, api := range r.apis {
		api.Stop()
	}
}

// closeEtcd closes what may not have begun to serve: Close alone waits for the
// client ports to do so, which a joiner without a leader never does.
func closeEtcd(etcd *embed.Etcd) {
	if !isReady(etcd) {
		etcd.Server.HardStop()
	}
	etcd.Close()
}

func isReady(etcd *embed.Etcd) bool {
	select {
	case <-etcd.Server.ReadyNotify():
		return true
	default:
		return false
	}
}

func (r *embedded) stop() { r.end(false) }
func (r *embedded) kill() { r.end(true) }

func (r *embedded) end(hard bool) {
	r.once.Do(func() {
		r.hard = hard
		close(r.quit)
	})
}

func (r *embedded) signal(syscall.Signal) error {
	return errors.New("an embedded server is no process of its own: use WithVersion")
}

func (r *embedded) ended() <-chan struct{} { return r.done }

func (r *embedded) result() (int, error) {
	if r.err != nil {
		return 1, r.err
	}
	return 0, nil
}

// config is the configuration of an embedded server, equal to what
// [Server.flags] says to a process.
func (s *Server) config(how start) (*embed.Config, error) {
	cfg := embed.NewConfig()
	cfg.Name = s.Name
	cfg.Dir = s.Dir
	cfg.InitialCluster = how.initial
	cfg.ClusterState = how.state
	cfg.InitialClusterToken = s.c.token
	cfg.QuotaBackendBytes = s.set.quota
	cfg.UnsafeNoFsync = !s.set.fsync
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(&s.log))
	for list, raws := range map[*[]url.URL][]string{
		&cfg.ListenPeerUrls:      {s.ListenPeerURL},
		&cfg.AdvertisePeerUrls:   published(s.set.peerURLs, s.PeerURL),
		&cfg.ListenClientUrls:    {s.ClientURL},
		&cfg.AdvertiseClientUrls: published(s.set.clientURLs, s.ClientURL),
		&cfg.ListenMetricsUrls:   {s.MetricsURL},
	} {
		*list = nil
		for _, raw := range raws {
			u, err := url.Parse(raw)
			if err != nil {
				return nil, err
			}
			*list = append(*list, *u)
		}
	}
	client, peer := s.c.Files()
	if s.set.clientScheme == "https" {
		cfg.ClientTLSInfo = tlsInfo(client)
	}
	if s.set.peerScheme == "https" {
		cfg.PeerTLSInfo = tlsInfo(peer)
	}
	for _, change := range s.set.changes {
		change(cfg)
	}
	return cfg, nil
}

func tlsInfo(f TLSFiles) transport.TLSInfo {
	return transport.TLSInfo{TrustedCAFile: f.CA, CertFile: f.Cert, KeyFile: f.Key, ClientCertAuth: true}
}

// zapLogger writes what an etcd process would write. Where etcd would exit,
// it panics: an exit would end the test process without a word.
func zapLogger(w io.Writer) *zap.Logger {
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(enc), zapcore.AddSync(w), zap.InfoLevel)
	return zap.New(core, zap.AddCaller(), zap.WithFatalHook(zapcore.WriteThenPanic))
}
