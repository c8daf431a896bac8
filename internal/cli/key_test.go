package cli

import (
	"testing"
	"time"

	"bursar/api"
)

func TestKeysWithoutUseAreMarked(t *testing.T) {
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	ago := func(days int) int64 { return now.AddDate(0, 0, -days).UnixMilli() }
	for name, c := range map[string]struct {
		key  api.APIKey
		want string
	}{
		"new":               {api.APIKey{CreatedAt: ago(0)}, ""},
		"used lately":       {api.APIKey{CreatedAt: ago(400), LastUsedAt: ago(44)}, ""},
		"used long ago":     {api.APIKey{CreatedAt: ago(400), LastUsedAt: ago(45)}, "unused for 45 days"},
		"never used":        {api.APIKey{CreatedAt: ago(60)}, "unused for 60 days"},
		"never used yet":    {api.APIKey{CreatedAt: ago(30)}, ""},
		"expired":           {api.APIKey{CreatedAt: ago(60), ExpiresAt: ago(1)}, "expired"},
		"expires some time": {api.APIKey{CreatedAt: ago(1), ExpiresAt: ago(-1)}, ""},
	} {
		if got := keyNote(c.key, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
