module github.com/etcdjoin/etcdjoin/examples

go 1.26

require (
	github.com/etcdjoin/etcdjoin v0.0.0
	github.com/etcdjoin/etcdjoin/etcdtest v0.0.0
)

replace (
	github.com/etcdjoin/etcdjoin => ../
	github.com/etcdjoin/etcdjoin/etcdtest => ../etcdtest
)
