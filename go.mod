module github.com/etcdjoin/etcdjoin

go 1.25.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/coreos/go-semver v0.3.1
	github.com/coreos/go-systemd/v22 v22.5.0
	github.com/google/renameio/v2 v2.0.2
	github.com/stretchr/testify v1.12.1
	go.etcd.io/etcd/api/v3 v3.6.0
	go.etcd.io/etcd/client/pkg/v3 v3.6.0
	go.etcd.io/etcd/client/v3 v3.6.0
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v4 v4.0.0
	google.golang.org/grpc v1.71.1
	google.golang.org/protobuf v1.36.5
)

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.26.3 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.38.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	golang.org/x/text v0.23.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20250303144028-a0af3efb3deb // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250303144028-a0af3efb3deb // indirect
)
