package member

import (
	"net/url"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

func checkMetricsURL(raw string) error {
	if raw == "" {
		return nil
	}
	if strings.ContainsAny(raw, "@?#") {
		return badInput("Config.MetricsURL", peerurl.Redact(raw), "must not name a user or have a query")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return badInput("Config.MetricsURL", raw, "must be an http or https URL")
	}
	return nil
}
