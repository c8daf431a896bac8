package rail

import "bursar/internal/db"

// ServiceStatus is the status of a rail, a connector or an institution, and since when it has it.
type ServiceStatus struct {
	Status Status
	Reason string
	Since  int64 // in Unix milliseconds; 0 if it was always up
}

// SetSimulated stores the status of a service in the sandbox of a workspace. A rail or a connector is given by its name, an institution by
// its code. Its time is the last change of the status.
func SetSimulated(tx *db.Tx, workspaceID, service string, status Status, reason string) error {
	return tx.Exec(`INSERT INTO simulated_service (workspace_id, service, status, reason, since) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workspace_id, service) DO UPDATE SET status = excluded.status, reason = excluded.reason,
			since = CASE WHEN simulated_service.status = excluded.status THEN simulated_service.since ELSE excluded.since END`,
		workspaceID, service, string(status), reason, tx.Now())
}

// Services contains the status of services, by name.
type Services map[string]ServiceStatus

// Simulated returns the status of the services in the sandbox of a workspace.
func Simulated(q db.Q, workspaceID string) (Services, error) {
	all := Services{}
	err := q.Each(func(r db.Rows) error {
		all[r.Text(0)] = ServiceStatus{Status(r.Text(1)), r.Text(2), r.Int(3)}
		return nil
	}, `SELECT service, status, reason, since FROM simulated_service WHERE workspace_id = $1`, workspaceID)
	return all, err
}

// Of returns the status of a service. It is up unless another status was stored.
func (all Services) Of(service string) ServiceStatus {
	if s, known := all[service]; known {
		return s
	}
	return ServiceStatus{Status: Up}
}

// Down reports whether a service cannot be used. A degraded service can be used.
func (all Services) Down(service string) bool { return all.Of(service).Status == Down }
