package server

import (
	"log/slog"
	"slices"
	"time"

	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
	"bursar/internal/rail/simulator"
)

// railsFor reads which rails there are. Those of the sandbox always are. Holidays are proclaimed each
// year, so it warns when those of the next one are missing.
func railsFor(c config.Serve, d *db.DB, log *slog.Logger) (*rail.Rails, error) {
	holidays, err := rail.LoadHolidays(c.Holidays)
	if err != nil {
		return nil, err
	}
	if year := holidays.Missing(time.UnixMilli(d.Now())); year != 0 {
		log.Warn("the holidays of a year are missing: payments are planned as if it had none; see --holidays", "year", year)
	}
	return rail.Load(c.Rails, rail.Config{
		Simulator: simulator.New(d), Holidays: holidays,
		Make: map[string]func(name string, settings []byte) (rail.Connector, error){"iso20022": iso20022.Make},
	})
}

// currencies lists those that rails carry, the first one first.
func currencies(rails *rail.Rails) (list []string) {
	for _, r := range rails.All() {
		if !slices.Contains(list, r.Currency) {
			list = append(list, r.Currency)
		}
	}
	return list
}
