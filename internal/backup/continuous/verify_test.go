package continuous

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/superfly/ltx"
)

// smallBase stores a base of a few pages. They compress well, as those of a database do: other bytes may decompress to
// the same page.
func smallBase(t *testing.T, to folder, recipients ...age.Recipient) segment {
	t.Helper()
	var text bytes.Buffer
	const pageSize = 512
	e, err := newEncoder(&text, ltx.Header{Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: pageSize, Commit: 3, MinTXID: 1, MaxTXID: 7, Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range []string{"SQLite format 3", strings.Repeat("payee ", 40), ""} {
		data := make([]byte, pageSize)
		copy(data[8*i:], page)
		if err := e.page(uint32(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	s := segment{level: bases, min: 1, max: 7, sealed: len(recipients) > 0}
	if s.sealed {
		var sealed bytes.Buffer
		w, err := age.Encrypt(&sealed, recipients...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, &text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text = sealed
	}
	sum := sha256.Sum256(text.Bytes())
	if err := to.PutSummed(t.Context(), s.name(), bytes.NewReader(text.Bytes()), int64(text.Len()), hex.EncodeToString(sum[:])); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAVerificationFindsEveryFlippedByte(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for form, from := range map[string]Source{
		"in clear":              {},
		"encrypted":             {Identities: []age.Identity{key}},
		"encrypted, key absent": {},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			target := folder(t.TempDir())
			from.Target = target
			var to []age.Recipient
			if form != "in clear" {
				to = append(to, key.Recipient())
			}
			base := smallBase(t, target, to...)
			damaged := func() []string {
				var report Report
				if _, err := checkObjects(t.Context(), from, &report, func(int64) {}); err != nil {
					t.Fatal(err)
				}
				return report.Damaged
			}
			if got := damaged(); got != nil {
				t.Fatalf("before: %v", got)
			}
			file := target.path(base.name())
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range text {
				flips := []byte{0x01, 0x80, 0xff} // some of which may decompress to the same page
				if form != "in clear" {
					flips = []byte{1 << (i % 8)}
				}
				for _, flip := range flips {
					text[i] ^= flip
					if err := os.WriteFile(file, text, 0o600); err != nil {
						t.Fatal(err)
					}
					if got := damaged(); !slices.Equal(got, []string{base.name()}) {
						t.Errorf("byte %d of %d ^ %#x: %v", i, len(text), flip, got)
					}
					text[i] ^= flip
				}
			}
		})
	}
}

// Otherwise a damaged bit would make a decoder allocate 2 GiB for a page of 512 bytes.
func TestAPageThatClaimsToBeLongerThanAnyIsRefused(t *testing.T) {
	t.Parallel()
	target := folder(t.TempDir())
	base := smallBase(t, target)
	file := target.path(base.name())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[ltx.HeaderSize+ltx.PageHeaderSize] |= 0x80
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	err = (&reader{target: target}).check(t.Context(), base)
	if damaged := new(DamagedError); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "a page claims to be 2147483") {
		t.Errorf("a verification returns %v", err)
	}
	if err := merge(t.Context(), filepath.Join(t.TempDir(), "merged"), []string{file}); err == nil || !strings.Contains(err.Error(), "a page claims to be 2147483") {
		t.Errorf("merging returns %v", err)
	}
}

func TestAVerificationReadsWhatNoRestoreNeeds(t *testing.T) {
	t.Parallel()
	target := folder(t.TempDir())
	old := smallBase(t, target)
	newer := segment{level: bases, min: 1, max: 9}
	var text bytes.Buffer
	e, err := newEncoder(&text, ltx.Header{Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: 512, Commit: 1, MinTXID: 1, MaxTXID: 9, Timestamp: 1})
	if err == nil {
		err = e.page(1, make([]byte, 512))
	}
	if err == nil {
		err = e.close()
	}
	if err == nil {
		err = target.Put(t.Context(), newer.name(), &text, int64(text.Len()))
	}
	if err == nil {
		err = os.WriteFile(target.path(old.name()), []byte("damaged"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	needed, err := checkObjects(t.Context(), Source{Target: target}, &report, func(int64) {})
	if err != nil || needed != nil || !slices.Equal(report.Damaged, []string{old.name()}) || report.Objects != 2 {
		t.Errorf("%+v, %v, %v", report, needed, err)
	}
}
