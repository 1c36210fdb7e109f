package member

import (
	"net/url"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

func checkMetricsURL(raw string) error {
	if raw == "" {
		return nil
	}
	if strings.ContainsAny(raw, "@?#") {
		return reason.Input("Config.MetricsURL", peerurl.Redact(raw), "must not name a user or have a query")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return reason.Input("Config.MetricsURL", raw, "must be an http or https URL")
	}
	return nil
}
