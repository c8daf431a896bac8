package iso20022_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
	"bursar/internal/rail/railtest"
)

func TestTheConnectorKeepsItsPromises(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Bank { return folder{open(t, t.TempDir())} })
}

// folder is the bank's side of a folder that several nodes share.
type folder struct{ bank }

func (f folder) Connect() (rail.Connector, *rail.Rail) {
	b := open(f.t, f.folder)
	return b.Connector, b.rail
}

func (f folder) Payment(endToEndID string) rail.Payment { return payment(endToEndID, 100) }

func (f folder) Received(endToEndID string) (count int) {
	for _, name := range f.files("out") {
		if !strings.HasPrefix(name, ".") {
			count += strings.Count(f.text("out", name), "<EndToEndId>"+endToEndID+"</EndToEndId>")
		}
	}
	return count
}

func (f folder) Complete(endToEndID string) {
	for _, name := range f.files("out") {
		if strings.Contains(f.text("out", name), "<EndToEndId>"+endToEndID+"</EndToEndId>") {
			_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".xml"), "-")
			f.brings(fmt.Sprintf("%s-%s.xml", endToEndID, id), report(id, "", `<OrgnlPmtInfAndSts>`+status(endToEndID, "ACSC", "")+`</OrgnlPmtInfAndSts>`))
		}
	}
}

func (f folder) Between(c rail.Connector, fn func()) { c.(*iso20022.Connector).Between(fn) }

func (f folder) Now() time.Time { return made }
