// Answers with golang.org/x/mod/sumdb what domain/merkle.py and domain/notes.py are asked as well:
// the tree of N entries "event 0", "event 1" and so on; and whether notes are signed.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Entries      int64      `json:"entries"`
	Sizes        []int64    `json:"sizes"`
	Inclusions   [][2]int64 `json:"inclusions"`
	Growths      [][2]int64 `json:"growths"`
	Key          string     `json:"key"`
	Notes        []string   `json:"notes"`
	SigningKey   string     `json:"signing_key"`
	Text         string     `json:"text"`
}

type answer struct {
	Roots      []string          `json:"roots"`
	Inclusions [][]string        `json:"inclusions"`
	Growths    [][]string        `json:"growths"`
	Tiles      map[string][]byte `json:"tiles"`
	Opened     []string          `json:"opened"`
	Signed     string            `json:"signed"`
}

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		found[i] = h[index]
	}
	return found, nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func texts(hashes []tlog.Hash) []string {
	found := []string{}
	for _, hash := range hashes {
		found = append(found, hash.String())
	}
	return found
}

func main() {
	var asked question
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	told := answer{Tiles: map[string][]byte{}}

	var stored hashes
	for n := int64(0); n < asked.Entries; n++ {
		more, err := tlog.StoredHashes(n, []byte(fmt.Sprintf("event %d", n)), stored)
		must(err)
		stored = append(stored, more...)
	}
	for _, size := range asked.Sizes {
		root, err := tlog.TreeHash(size, stored)
		must(err)
		told.Roots = append(told.Roots, root.String())
	}
	for _, pair := range asked.Inclusions {
		proof, err := tlog.ProveRecord(pair[1], pair[0], stored)
		must(err)
		told.Inclusions = append(told.Inclusions, texts(proof))
	}
	for _, pair := range asked.Growths {
		proof, err := tlog.ProveTree(pair[1], pair[0], stored)
		must(err)
		told.Growths = append(told.Growths, texts(proof))
	}
	for _, tile := range tlog.NewTiles(8, 0, asked.Entries) {
		data, err := tlog.ReadTileData(tile, stored)
		must(err)
		told.Tiles[tile.Path()] = data
	}

	verifier, err := note.NewVerifier(asked.Key)
	must(err)
	for _, text := range asked.Notes {
		opened, err := note.Open([]byte(text), note.VerifierList(verifier))
		if err != nil {
			told.Opened = append(told.Opened, "")
		} else {
			told.Opened = append(told.Opened, opened.Text)
		}
	}
	signer, err := note.NewSigner(asked.SigningKey)
	must(err)
	signed, err := note.Sign(&note.Note{Text: asked.Text}, signer)
	must(err)
	told.Signed = string(signed)
	must(json.NewEncoder(os.Stdout).Encode(told))
}
