package server

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
	"bursar/internal/rail/simulator"
)

// railsFor returns the configured rails. Those of the sandbox always exist. It warns if next year's holidays, which are
// proclaimed each year, are missing. It also warns if there are live accounts without a rail.
func railsFor(ctx context.Context, c config.Serve, d *db.DB, log *slog.Logger) (*rail.Rails, error) {
	holidays, err := rail.LoadHolidays(c.Holidays)
	if err != nil {
		return nil, err
	}
	if year := holidays.Missing(time.UnixMilli(d.Now())); year != 0 {
		log.Warn("the holidays of a year are missing: payments are planned as if it had none; see --holidays", "year", year)
	}
	rails, err := rail.Load(c.Rails, rail.Config{
		Simulator: simulator.New(d), Holidays: holidays,
		Make: map[string]func(name string, settings []byte) (rail.Connector, error){"iso20022": iso20022.Make},
	})
	if err != nil || rails.HasLive() {
		return rails, err
	}
	var live bool
	err = d.Read(ctx, func(q db.Q) (err error) {
		live, err = ledger.HasLive(q)
		return err
	})
	if live {
		log.Warn("live accounts have money and no rail moves it: their payouts wait, and nothing of a bank is read; see --rails")
	}
	return rails, err
}

// currencies lists the currencies of the rails, in the order of the rails.
func currencies(rails *rail.Rails) (list []string) {
	for _, r := range rails.All() {
		if !slices.Contains(list, r.Currency) {
			list = append(list, r.Currency)
		}
	}
	return list
}
