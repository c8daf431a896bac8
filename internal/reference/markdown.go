package reference

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// markdown renders a description. Raw HTML in the source is dropped, which is goldmark's default, so the result is safe in the page.
func markdown(source string) (template.HTML, error) {
	renderer := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	// A wide table scrolls separately on a narrow screen, also by keyboard.
	scrollable := strings.NewReplacer(
		"<table>", `<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>`,
		"</table>", "</table></div>",
	)
	var out bytes.Buffer
	if err := renderer.Convert([]byte(source), &out); err != nil {
		return "", fmt.Errorf("render markdown: %w", err)
	}
	return template.HTML(scrollable.Replace(out.String())), nil
}

// inline renders one or two sentences for a table cell.
func inline(source string) (template.HTML, error) {
	rendered, err := markdown(source)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(rendered))
	if strings.Count(text, "<p>") == 1 {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "<p>"), "</p>")
	}
	return template.HTML(text), nil
}
