package server

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bursar/internal/auditlog"
	"bursar/internal/ledger"
	"bursar/internal/payout"
)

// metrics counts requests by route, never by path, because paths contain ids.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	routes   sync.Map // string → *routeMetrics
}

// routeMetrics holds the metrics of one route, so that most requests look up nothing.
type routeMetrics struct {
	succeeded prometheus.Counter
	duration  prometheus.Observer
}

func newMetrics(signer *auditlog.Signer, books *ledger.Check, dispatcher *payout.Dispatcher) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bursar_http_requests_total",
			Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "bursar_http_request_duration_seconds",
			Help:    "Time to answer, by route.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.duration, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), auditMetrics{signer},
		counted("bursar_payouts_float_short_total", "Payouts that a rail refused because our own account with the bank is short.", &dispatcher.FloatShort),
		counted("bursar_payouts_contradicted_total", "Answers of rails that contradict an earlier one.", &dispatcher.Contradicted),
		counted("bursar_suspense_notices_total", "Movements at a bank that nobody can explain and that went to suspense.", &dispatcher.Suspended),
		counted("bursar_notices_untaken_total", "Tries to take what a rail tells that failed. It is tried again, and the log says why.", &dispatcher.Untaken),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bursar_ledger_mismatches",
			Help: "Where the ledger contradicts itself, as the check in the background has found it. Anything but 0 needs an operator.",
		}, func() float64 { return float64(books.Mismatches()) }))
	return m
}

// counted tells what another package counts.
func counted(name, help string, count *atomic.Uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(count.Load()) })
}

// auditMetrics tells how the log becomes checkpoints.
type auditMetrics struct{ signer *auditlog.Signer }

var (
	auditSize     = prometheus.NewDesc("bursar_audit_tree_size", "Leaves of the newest head of the audit log.", nil, nil)
	auditAge      = prometheus.NewDesc("bursar_audit_head_age_seconds", "Time since the newest head of the audit log was made. It grows while nothing happens.", nil, nil)
	auditFailures = prometheus.NewDesc("bursar_audit_failures_total", "Failures on the way from a row of the audit log to a checkpoint, by step.", []string{"step"}, nil)
)

// Describe implements prometheus.Collector.
func (m auditMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m auditMetrics) Collect(out chan<- prometheus.Metric) {
	size, at, failures := m.signer.Health()
	if at > 0 {
		out <- prometheus.MustNewConstMetric(auditSize, prometheus.GaugeValue, float64(size))
		out <- prometheus.MustNewConstMetric(auditAge, prometheus.GaugeValue, time.Since(time.UnixMilli(at)).Seconds())
	}
	for step, count := range failures {
		out <- prometheus.MustNewConstMetric(auditFailures, prometheus.CounterValue, float64(count), step)
	}
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	known, ok := m.routes.Load(route)
	if !ok {
		known, _ = m.routes.LoadOrStore(route, &routeMetrics{
			succeeded: m.requests.WithLabelValues(route, "200"),
			duration:  m.duration.WithLabelValues(route),
		})
	}
	of := known.(*routeMetrics)
	of.duration.Observe(took.Seconds())
	if status == http.StatusOK {
		of.succeeded.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// ServeMetrics serves /metrics on an address of its own until stop is called: they tell
// how much a service is used, which is for its operator alone.
func (s *Server) ServeMetrics(address string) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return serveAside(address, "metrics", mux, s.log.Logger)
}
