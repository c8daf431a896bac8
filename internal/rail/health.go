package rail

import (
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/institution"
)

// ServiceStatus is how a rail, a connector or an institution is, and since when.
type ServiceStatus struct {
	Status Status
	Reason string
	Since  int64 // in Unix milliseconds; 0 if it was never anything but up
}

// SetStatus stores how a service is: a rail or a connector by its name, an institution by its
// code. Its time is that of the last change of the status.
func SetStatus(tx *db.Tx, sandbox bool, service string, status Status, reason string) error {
	return tx.Exec(`INSERT INTO service_status (sandbox, service, status, reason, since) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (sandbox, service) DO UPDATE SET status = excluded.status, reason = excluded.reason,
			since = CASE WHEN service_status.status = excluded.status THEN service_status.since ELSE excluded.since END`,
		sandbox, service, string(status), reason, tx.Now())
}

// Services are how all services of a mode are, by name.
type Services map[string]ServiceStatus

// Statuses returns how the services of a mode are.
func Statuses(q db.Q, sandbox bool) (Services, error) {
	all := Services{}
	err := q.Each(func(r db.Rows) error {
		all[r.Text(0)] = ServiceStatus{Status(r.Text(1)), r.Text(2), r.Int(3)}
		return nil
	}, `SELECT service, status, reason, since FROM service_status WHERE sandbox = $1`, sandbox)
	return all, err
}

// Of returns how a service is. It is up unless somebody has said otherwise.
func (all Services) Of(service string) ServiceStatus {
	if s, known := all[service]; known {
		return s
	}
	return ServiceStatus{Status: Up}
}

// Down says that a service cannot be used. One that is degraded can.
func (all Services) Down(service string) bool { return all.Of(service).Status == Down }

// ServiceDetails are the details of a fault about a service that is down.
type ServiceDetails struct {
	Service string `json:"service"`
	Since   int64  `json:"since"`
}

// Check says that a payment cannot be made now, because the rail, its connector or the payee's
// institution is down: a fault, or nil.
func (all Services) Check(r *Rail, to string) error {
	down := func(code fault.Code, service, name string) error {
		f := fault.New(code, "%s is down: try again later", name)
		f.Details = ServiceDetails{service, all.Of(service).Since}
		return f
	}
	switch {
	case all.Down(r.Name):
		return down(fault.RailUnavailable, r.Name, r.Title)
	case all.Down(r.Connector.Name()):
		return down(fault.RailUnavailable, r.Connector.Name(), r.Title)
	case all.Down(to):
		return down(fault.BankUnavailable, to, institution.Name(to))
	}
	return nil
}
