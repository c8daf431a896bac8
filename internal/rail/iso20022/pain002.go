package iso20022

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"bursar/internal/rail"
)

// The elements of a pain.002.001.10 that we read.
type (
	groupStatus struct {
		OrgnlMsgId string
		GrpSts     string
		Reasons    []reason `xml:"StsRsnInf"`
	}
	infoStatus struct {
		PmtInfSts    string
		Reasons      []reason            `xml:"StsRsnInf"`
		Transactions []transactionStatus `xml:"TxInfAndSts"`
	}
	transactionStatus struct {
		OrgnlInstrId    string
		OrgnlEndToEndId string
		TxSts           string
		Reasons         []reason `xml:"StsRsnInf"`
		AcctSvcrRef     string
	}
	reason struct {
		Cd       string   `xml:"Rsn>Cd"`
		Prtry    string   `xml:"Rsn>Prtry"`
		AddtlInf []string `xml:"AddtlInf"`
	}
)

// statusReport reads the statuses of a message that we sent. The status of the whole message counts for payments that have none of their
// own.
func (d *reader) statusReport() error {
	var group groupStatus
	var infos []infoStatus
	err := d.inside(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "GrpHdr":
			return d.header(e)
		case "OrgnlGrpInfAndSts":
			return d.decode(e, &group)
		case "OrgnlPmtInfAndSts":
			infos = append(infos, infoStatus{})
			return d.decode(e, &infos[len(infos)-1])
		}
		return d.skip()
	})
	if err != nil {
		return err
	}
	trim(&group.OrgnlMsgId, &group.GrpSts)
	if d.msgID == "" {
		return errors.New("it has no message id")
	}
	payments, err := d.ours(group.OrgnlMsgId)
	if err != nil {
		return err
	}
	if len(payments) == 0 {
		return fmt.Errorf("it answers the message %q, which Bursar has not sent", group.OrgnlMsgId)
	}
	reported, submissions := map[string]bool{}, map[string]int{}
	for _, p := range payments {
		submissions[p.id] = p.submission
	}
	status, reasons := group.GrpSts, group.Reasons
	for _, info := range infos {
		if trim(&info.PmtInfSts); info.PmtInfSts != "" {
			status, reasons = info.PmtInfSts, append(info.Reasons, reasons...)
		}
		for _, t := range info.Transactions {
			trim(&t.OrgnlInstrId, &t.TxSts)
			references(&t.OrgnlEndToEndId, &t.AcctSvcrRef)
			id := t.OrgnlEndToEndId
			if id == "" {
				id = t.OrgnlInstrId // the same as the end-to-end id in the files that we send
			}
			if submissions[id] == 0 {
				return fmt.Errorf("it names a payment %q, which was not in the message %s", id, group.OrgnlMsgId)
			}
			if t.TxSts == "" {
				continue // it only repeats what was sent
			}
			reported[id] = true
			if err := d.decided(id, submissions[id], t.TxSts, t.Reasons, t.AcctSvcrRef); err != nil {
				return err
			}
		}
	}
	for _, p := range payments {
		if !reported[p.id] && status != "" && status != "PART" {
			if err := d.decided(p.id, p.submission, status, reasons, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *reader) decided(id string, submission int, status string, reasons []reason, reference string) error {
	o := rail.Outcome{State: rail.Accepted, Code: status, Reference: reference, Submission: submission}
	var texts []string
	why := ""
	for _, r := range reasons {
		if why == "" {
			why = strings.TrimSpace(r.Cd + r.Prtry) // one of the two is set
		}
		texts = append(texts, r.AddtlInf...)
	}
	o.Text = strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
	switch {
	case status == "ACCC" || status == d.c.Final:
		o.State = rail.Completed
	case status == "RJCT":
		o.State, o.Code = rail.Rejected, why
	}
	return d.add(rail.Notice{MessageID: d.msgID, EntryID: id + "/" + status, Kind: rail.Decided, EndToEndID: id, Outcome: o, Booked: true})
}
