package vault

import (
	"strconv"
	"strings"

	"bursar/internal/accountnumber"
	"bursar/internal/db"
)

// column is a column that contains sealed values. Its table also has the column sealed_by.
type column struct {
	table, id, name string
	key, tail       string // the columns of the index and of the index of the last digits, "" for none
	ofStore         bool   // its values belong to the store and to no workspace
	passing         bool   // its values are deleted within weeks: reseal skips them, and their key stays meanwhile
}

// columns are all columns with sealed values. reseal finds no values that are sealed
// elsewhere, and their key may be deleted.
func columns() []column {
	return []column{
		{table: "receiving_method", id: "id", name: "account_sealed", key: "account_key", tail: "tail_key"},
		{table: "payout", id: "id", name: "account_sealed", key: "destination_key"},
		{table: "directory_import_chunk", name: "body_sealed", passing: true},
		{table: "approval", id: "id", name: "payload_sealed"},
		{table: "directory_import_line", id: "id", name: "payload_sealed"},
		{table: "directory_merge", name: "state_sealed", passing: true},
		{table: "totp", id: "account_id", name: "secret_sealed", ofStore: true},
		{table: "signing_key", id: "id", name: "seed_sealed", ofStore: true},
		{table: "vault_secret", id: "name", name: "sealed", ofStore: true},
		{table: "outgoing_mail", name: "message_sealed", ofStore: true, passing: true},
	}
}

// context is what binds a sealed value to its row.
func (c column) context(id string) string { return Row(c.table, c.name, id) }

// Account is the context of the account number of a receiving method.
func Account(id string) string { return Row("receiving_method", "account_sealed", id) }

// PayoutAccount is the context of the account number of a payout's destination.
func PayoutAccount(id string) string { return Row("payout", "account_sealed", id) }

// ImportChunk is the context of a chunk of an import: of its file, or of its rejected lines.
func ImportChunk(importID, part string, number int64) string {
	return Row("directory_import_chunk", "body_sealed", importID+"/"+part+"/"+strconv.FormatInt(number, 10))
}

// ApprovalPayload is the context of the payload of an approval.
func ApprovalPayload(id string) string { return Row("approval", "payload_sealed", id) }

// ImportLine is the context of the changes of a line of an import.
func ImportLine(id string) string { return Row("directory_import_line", "payload_sealed", id) }

// MergeState is the context of the state of entries before a merge.
func MergeState(id string) string { return Row("directory_merge", "state_sealed", id) }

// TOTPSecret is the context of the secret of an authenticator app.
func TOTPSecret(accountID string) string { return Row("totp", "secret_sealed", accountID) }

// SigningSeed is the context of the seed of a signing key.
func SigningSeed(id string) string { return Row("signing_key", "seed_sealed", id) }

// OutgoingMail is the context of an undelivered message.
func OutgoingMail(id string) string { return Row("outgoing_mail", "message_sealed", id) }

// StoreSecret is the context of a secret of the whole store.
func StoreSecret(name string) string { return Row("vault_secret", "sealed", name) }

// NormalNumber returns an account number in the form used for comparisons, without the
// characters that group its digits.
func NormalNumber(number string) string {
	return accountnumber.Compact(number)
}

const (
	// tailLength is how many characters at the end of an account number it can be found by. shortest
	// is how long the number must be: nothing is shown of a shorter one either.
	tailLength, shortest = 4, 8
)

// Tail is the value by which Index and Lookups find an account number by its last four digits. It
// is "" if the number does not end with four digits. No NormalNumber has a space, so a Tail is
// never the index of a whole number.
func Tail(number string) string {
	number = NormalNumber(number)
	if len(number) < shortest {
		return ""
	}
	return TailOf(number[len(number)-tailLength:])
}

// TailOf is the Tail of all numbers that end with four digits. It is "" if the text is not four digits.
func TailOf(digits string) string {
	if len(digits) != tailLength || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return "tail " + digits
}

// TailIndex returns the index of the Tail of a sealed number, or nothing if it has none.
func (v *Vault) TailIndex(sealed []byte, number string) ([]byte, error) {
	tail := Tail(number)
	if tail == "" {
		return []byte{}, nil
	}
	return v.Index(sealed, tail)
}

// replace stores a newly sealed value in place of one that was read, unless that was changed since.
func (c column) replace(tx *db.Tx, v *Vault, id string, was, sealed, plaintext []byte) error {
	sql := db.NewStatement(`UPDATE `+c.table+` SET `+c.name+` = `, sealed)
	sql.Add(`, sealed_by = `, KeyOf(sealed))
	if c.key != "" {
		index, err := v.Index(sealed, NormalNumber(string(plaintext)))
		if err != nil {
			return err
		}
		sql.Add(`, `+c.key+` = `, index)
	}
	if c.tail != "" {
		index, err := v.TailIndex(sealed, string(plaintext))
		if err != nil {
			return err
		}
		sql.Add(`, `+c.tail+` = `, index)
	}
	sql.Add(` WHERE `+c.id+` = `, id)
	sql.Add(` AND `+c.name+` = `, was)
	return tx.ExecOf(sql)
}
