package classify

import (
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// Because is a fatal answer with its reason, and with the hint that fits its cause.
func Because(err error) error {
	because := reason.Because(Reason(err), err)
	if hint := advice(err.Error()); hint != "" {
		return reason.Advise(because, hint)
	}
	return because
}

// causes are what TLS libraries and gRPC say, and what a person should do about it.
var causes = []struct{ words, hint string }{
	{"expired or is not yet valid", "check the certificate's dates, and the clocks of both hosts"},
	{"certificate is valid for", "the certificate is for another host name or address: issue it for the one that is dialled, or dial the one it is for"},
	{"doesn't contain any IP SANs", "the certificate has no IP address: issue it for the address that is dialled, or dial its host name"},
	{"unknown authority", "the certificate is of another CA: check the CA file that was given"},
	{"certificate required", "the server asks for a client certificate: give one (ClientConfig.PeerTLS for peer ports, the clientv3 client's TLS for endpoints)"},
	{"bad certificate", "the server refuses our certificate: check its CA, its dates and its client usage (ClientConfig.PeerTLS for peer ports, the clientv3 client's TLS for endpoints)"},
	{"first record does not look like a TLS handshake", "the server speaks plain HTTP there: give the URL with http"},
	{"server gave HTTP response to HTTPS client", "the server speaks plain HTTP there: give the URL with http"},
	{"frame too large", "that is a peer port, or a web server: endpoints are client URLs (port 2379, not 2380)"},
}

func advice(text string) string {
	for _, c := range causes {
		if strings.Contains(text, c.words) {
			return c.hint
		}
	}
	return ""
}

// misdirected finds an endpoint that is no client port of etcd: gRPC flattens what it
// met there into text.
func misdirected(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "frame too large") || strings.Contains(text, "first record does not look like a TLS handshake")
}
