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
	"bursar/internal/backup/continuous"
	"bursar/internal/db/engine"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/payout/dispatch"
)

// metrics counts requests by route, never by path, because paths contain ids.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	routes   sync.Map // string → *routeMetrics
}

// routeMetrics contains the metrics of one route, so that most requests need no lookup.
type routeMetrics struct {
	succeeded prometheus.Counter
	duration  prometheus.Observer
}

func newMetrics(signer *auditlog.Signer, failures *identity.Failures, books *ledger.Check, dispatcher *dispatch.Dispatcher, lists *engine.Lists) *metrics {
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
		counted("bursar_login_failures_unrecorded_total", "Failed sign-ins and key exchanges beyond the budget of the audit log, which leave no row.", &failures.Unrecorded),
		counted("bursar_payouts_float_short_total", "Payouts that a rail refused because our own account with the bank is short.", &dispatcher.FloatShort),
		counted("bursar_payouts_contradicted_total", "Rail answers and bank bookings that conflict with a payout's record.", &dispatcher.Contradicted),
		counted("bursar_rail_record_conflicts_total", "Connectors that stopped sending because their folder does not agree with the store.", &dispatcher.RecordConflicts),
		counted("bursar_suspense_notices_total", "Unexplained movements at a bank, booked to suspense.", &dispatcher.Suspended),
		counted("bursar_rail_notice_errors_total", "Failed attempts to book what a rail reports. They are repeated, and the log has the reason.", &dispatcher.Untaken),
		gauged("bursar_payout_stops", "Workspaces and modes in which people have stopped sending payouts.", func() float64 { return float64(dispatcher.Stops.Load()) }),
		gauged("bursar_clock_skew_seconds", "How far the clock of this node is ahead of the database's. Beyond 4 seconds it sends no payouts.", func() float64 { return dispatcher.Skew().Seconds() }),
		gauged("bursar_ledger_mismatches", "Where the ledger contradicts itself, as the check in the background has found it. Anything but 0 needs an operator.", func() float64 { return float64(books.Mismatches()) }))
	if lists != nil {
		m.registry.MustRegister(
			counted("bursar_lists_by_primary_total", "Lists that the primary served although there is a replica.", &lists.Primary),
			counted("bursar_lists_by_replica_total", "Lists that the replica served.", &lists.Replica),
			gauged("bursar_replica_used", "1 if the replica serves lists, 0 if it is away, behind or no standby any more.", func() float64 {
				if lists.Used.Load() {
					return 1
				}
				return 0
			}),
			gauged("bursar_replica_lag_bytes", "Bytes of the log that the replica had not replayed at the last check.", func() float64 { return float64(lists.Lag.Load()) }))
	}
	return m
}

func gauged(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}

// counted returns a metric for a counter of another package.
func counted(name, help string, count *atomic.Uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(count.Load()) })
}

// auditMetrics are the metrics of the audit log's head and of the steps to its checkpoints.
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

// backupMetrics are the metrics of the backup of the store.
type backupMetrics struct{ status func() continuous.Status }

var (
	backupSafe     = prometheus.NewDesc("bursar_backup_complete_timestamp_seconds", "Everything that was committed before this time is in the backup.", nil, nil)
	backupBase     = prometheus.NewDesc("bursar_backup_base_timestamp_seconds", "When the newest base of the backup was stored.", nil, nil)
	backupFailing  = prometheus.NewDesc("bursar_backup_failing", "1 while the backup fails; the log has the reason.", nil, nil)
	backupQueue    = prometheus.NewDesc("bursar_backup_queue_segments", "Segments that the backup does not have yet.", nil, nil)
	backupSegments = prometheus.NewDesc("bursar_backup_segments_total", "Segments and bases that were stored since the start.", nil, nil)
	backupBytes    = prometheus.NewDesc("bursar_backup_bytes_total", "Bytes that were stored since the start.", nil, nil)
	backupGaps     = prometheus.NewDesc("bursar_backup_gaps_total", "How often changes were missed since the start, so that a new base was needed.", nil, nil)
	backupVerified = prometheus.NewDesc("bursar_backup_verified_timestamp_seconds", "When the backup was verified last.", nil, nil)
	backupGood     = prometheus.NewDesc("bursar_backup_verified_good", "1 if the last verification found nothing, 0 if it did.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m backupMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m backupMetrics) Collect(out chan<- prometheus.Metric) {
	s := m.status()
	number := func(d *prometheus.Desc, kind prometheus.ValueType, n float64) {
		out <- prometheus.MustNewConstMetric(d, kind, n)
	}
	moment := func(d *prometheus.Desc, at time.Time) {
		if !at.IsZero() {
			number(d, prometheus.GaugeValue, float64(at.UnixMilli())/1000)
		}
	}
	truth := func(d *prometheus.Desc, is bool) {
		n := 0.0
		if is {
			n = 1
		}
		number(d, prometheus.GaugeValue, n)
	}
	moment(backupSafe, s.Safe)
	moment(backupBase, s.Base)
	truth(backupFailing, s.Failure != "")
	number(backupQueue, prometheus.GaugeValue, float64(s.Queue))
	number(backupSegments, prometheus.CounterValue, float64(s.Segments))
	number(backupBytes, prometheus.CounterValue, float64(s.Bytes))
	number(backupGaps, prometheus.CounterValue, float64(s.Gaps))
	if !s.Verified.At.IsZero() {
		moment(backupVerified, s.Verified.At)
		truth(backupGood, s.Verified.Error == "")
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

// ServeMetrics serves /metrics on a separate address until stop is called. The metrics
// show the usage of the service, which only its operator may see.
func (s *Server) ServeMetrics(address string) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return serveAside(address, "metrics", mux, s.log.Logger)
}
