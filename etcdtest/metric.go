package etcdtest

import (
	"context"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metric is the value of one of the server's metrics, a counter or a gauge, the
// sum of those series that have all of these labels, given as pairs of name and
// value; ok is false if there is none, or if the server does not answer. An
// embedded server shows the metrics of all in this process.
//
//	active, ok := leader.Metric("etcd_network_active_peers", "Remote", fmt.Sprintf("%x", id))
func (s *Server) Metric(name string, labels ...string) (value float64, ok bool) {
	s.c.tb.Helper()
	if len(labels)%2 != 0 {
		s.c.tb.Fatalf("etcdtest: metric %s: labels come in pairs: %q", name, labels)
	}
	families, err := s.metrics()
	if err != nil {
		return 0, false
	}
	for _, m := range families[name].GetMetric() {
		if hasLabels(m, labels) {
			value += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
			ok = true
		}
	}
	return value, ok
}

func (s *Server) metrics() (families map[string]*dto.MetricFamily, err error) {
	err = within(s.c.tb.Context(), pollWithin, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.MetricsURL+"/metrics", nil)
		if err != nil {
			return err
		}
		req.Close = true // no connection may outlive the server it is with
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("metrics: %s", resp.Status)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err = parser.TextToMetricFamilies(resp.Body)
		return err
	})
	return families, err
}

func hasLabels(m *dto.Metric, want []string) bool {
	has := map[string]string{}
	for _, l := range m.GetLabel() {
		has[l.GetName()] = l.GetValue()
	}
	for i := 0; i < len(want); i += 2 {
		if got, ok := has[want[i]]; !ok || got != want[i+1] {
			return false
		}
	}
	return true
}
