package auditlog

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/db"
)

const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// tileID identifies a tile as in C2SP tlog-tiles.
type tileID struct {
	level  int
	number int64
}

// Tiles reads the hashes of the tree from the store, each tile once. It is a
// tlog.HashReader, from which package tlog computes roots and proofs.
type Tiles struct {
	q    db.Q
	read map[tileID][]byte
}

// NewTiles returns a reader that is valid as long as the query is. With a snapshot, all reads
// see the same state.
func NewTiles(q db.Q) *Tiles { return &Tiles{q: q, read: map[tileID][]byte{}} }

// ReadHashes implements tlog.HashReader.
func (t *Tiles) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		tile := tlog.TileForIndex(tileHeight, index)
		data, err := t.tile(tileID{tile.L, tile.N})
		if err != nil {
			return nil, err
		}
		if hashes[i], err = tlog.HashFromTile(tile, data, index); err != nil {
			return nil, fmt.Errorf("read a tile of the audit log: %w", err)
		}
	}
	return hashes, nil
}

// tile returns the hashes of a tile, or none if the tile does not exist.
func (t *Tiles) tile(id tileID) ([]byte, error) {
	if known, ok := t.read[id]; ok {
		return known, nil
	}
	var hashes []byte
	err := t.q.Each(func(r db.Rows) error {
		hashes = append(hashes, r.Raw(0)...)
		return nil
	}, `SELECT hashes FROM audit_tile WHERE level = $1 AND number = $2`, id.level, id.number)
	t.read[id] = hashes
	return hashes, err
}

// Tile returns the hashes of a tile of the log. C2SP tlog-tiles names it tile/<level>/<number>,
// followed by .p/<width> for a tile that is not full. It returns nil if there is no such tile.
func (s *Service) Tile(ctx context.Context, path string) (hashes []byte, full bool, err error) {
	rest, _ := strings.CutPrefix(path, "tile/")
	tile, err := tlog.ParseTilePath("tile/" + strconv.Itoa(tileHeight) + "/" + rest)
	if err != nil || tile.L < 0 {
		return nil, false, nil
	}
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		hashes, err = NewTiles(q).tile(tileID{tile.L, tile.N})
		return err
	})
	width := tile.W * tlog.HashSize
	if err != nil || len(hashes) < width {
		return nil, false, err
	}
	return hashes[:width], tile.W == tileWidth, nil
}

// frontier is the part of a tree that is needed to extend it: on each level the tile at
// its right edge, which is not full.
type frontier struct {
	size  int64
	edges [][]byte
	full  map[tileID][]byte // tiles that became full since they were stored
	grown int               // how many levels have grown since they were stored
}

// newFrontier reads the right edge of the tree of a size.
func newFrontier(tiles *Tiles, size int64) (*frontier, error) {
	f := &frontier{size: size, full: map[tileID][]byte{}}
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		hashes := size >> (tileHeight * level)
		width := int(hashes%tileWidth) * tlog.HashSize
		var edge []byte
		if width > 0 {
			stored, err := tiles.tile(tileID{level, hashes / tileWidth})
			if err != nil {
				return nil, err
			}
			if len(stored) < width {
				return nil, fmt.Errorf("the tile %d of level %d of the audit log has %d bytes and must have %d: rows were removed from the store", hashes/tileWidth, level, len(stored), width)
			}
			edge = stored[:width:width]
		}
		f.edges = append(f.edges, edge)
	}
	return f, nil
}

// clone returns a copy that grows independently.
func (f *frontier) clone() *frontier {
	grown := &frontier{size: f.size, full: map[tileID][]byte{}}
	for _, edge := range f.edges {
		grown.edges = append(grown.edges, edge[:len(edge):len(edge)])
	}
	return grown
}

// add appends a leaf.
func (f *frontier) add(leaf []byte) {
	hash := tlog.RecordHash(leaf)
	f.size++
	for level := 0; ; level++ {
		if level == len(f.edges) {
			f.edges = append(f.edges, nil)
		}
		f.edges[level] = append(f.edges[level], hash[:]...)
		f.grown = max(f.grown, level+1)
		if len(f.edges[level]) < tileWidth*tlog.HashSize {
			return
		}
		f.full[tileID{level, f.size>>(tileHeight*(level+1)) - 1}] = f.edges[level]
		hash = tileRoot(f.edges[level])
		f.edges[level] = nil
	}
}

func tileRoot(hashes []byte) tlog.Hash {
	if len(hashes) == tlog.HashSize {
		return tlog.Hash(hashes)
	}
	half := len(hashes) / 2
	return tlog.NodeHash(tileRoot(hashes[:half]), tileRoot(hashes[half:]))
}

// root returns the hash of the whole tree.
func (f *frontier) root() (tlog.Hash, error) {
	return tlog.TreeHash(f.size, &Tiles{read: f.edgeTiles(len(f.edges))})
}

// changed returns the tiles that must be stored: newly full tiles, and tiles at the edge
// that have grown.
func (f *frontier) changed() map[tileID][]byte {
	tiles := f.edgeTiles(f.grown)
	maps.Copy(tiles, f.full)
	return tiles
}

func (f *frontier) edgeTiles(levels int) map[tileID][]byte {
	tiles := map[tileID][]byte{}
	for level, edge := range f.edges[:levels] {
		if len(edge) > 0 {
			tiles[tileID{level, f.size >> (tileHeight * (level + 1))}] = edge
		}
	}
	return tiles
}
