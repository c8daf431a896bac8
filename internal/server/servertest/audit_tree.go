package servertest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
)

// TreeHashes reads the hashes of all leaves of a tree as an outsider does: from the tiles
// of the lowest level.
func (n *Node) TreeHashes(t testing.TB, size int64) [][]byte {
	t.Helper()
	var hashes [][]byte
	for number := int64(0); int64(len(hashes)) < size; number++ {
		path := fmt.Sprintf("/audit-log/tile/0/%s%03d", strings.Repeat(fmt.Sprintf("x%03d/", number/1000), int(min(number/1000, 1))), number%1000)
		if width := size - number*256; width < 256 {
			path += fmt.Sprintf(".p/%d", width)
		}
		for hash := range slices.Chunk(n.Outside(t, path).OK().Body, 32) {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// RootOf computes the root of a tree with a third-party implementation.
func RootOf(t testing.TB, hashes [][]byte) string {
	t.Helper()
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, hash := range hashes {
		if err := tree.Append(hash, nil); err != nil {
			t.Fatal(err)
		}
	}
	root, err := tree.GetRootHash(nil)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(root)
}
