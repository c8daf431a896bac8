package cli

import (
	"slices"
	"testing"

	"bursar/api"
)

func TestTagsAreAddedAndTakenAway(t *testing.T) {
	on := callOn(t, Terminal{})
	e := &api.Entry{Label: "Ada", Tags: []string{"Speaker", "vip"}}
	for _, c := range []struct{ add, drop, want []string }{
		{nil, nil, nil},
		{[]string{"new"}, nil, []string{"Speaker", "vip", "new"}},
		{[]string{" new ", "NEW", "speaker"}, nil, []string{"Speaker", "vip", "new"}},
		{nil, []string{"speaker"}, []string{"vip"}},
		{nil, []string{"speaker", "VIP"}, []string{}},
		{[]string{"keynote"}, []string{"speaker"}, []string{"vip", "keynote"}},
		{[]string{"speaker"}, []string{"Speaker"}, []string{"vip", "speaker"}},
	} {
		got, err := changedTags(on, e, c.add, c.drop)
		if err != nil || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("with %v and without %v: %v, %v, want %v", c.add, c.drop, got, err, c.want)
		}
	}
	if got, err := changedTags(on, e, nil, []string{"gone"}); err == nil {
		t.Errorf("a tag that is not there was taken away: %v", got)
	}
	if !slices.Equal(e.Tags, []string{"Speaker", "vip"}) {
		t.Errorf("the entry changed: %v", e.Tags)
	}
}
