package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
)

const (
	chartWidth = 860.0
	margin     = 28.0
	inner      = chartWidth - 2*margin
	headHeight = 84.0
	footSize   = 11.0
	footLine   = 16.0

	ink     = "#1f2328"
	soft    = "#59636e"
	lines   = "#e1e5ea"
	border  = "#d1d9e0"
	surface = "#ffffff"
)

// figure is a chart on a white card, which GitHub shows on light and on dark.
type figure struct {
	name     string
	title    string
	subtitle string
	desc     string // all of it in words, for who cannot see it
	foot     string
	height   float64 // of what is drawn between head and foot
	canvas
}

func (f *figure) render() []byte {
	foot := wrapText(f.foot, footSize, inner)
	height := headHeight + f.height + 20 + footLine*float64(len(foot)) + 12
	var card canvas
	card.rect(0.5, 0.5, chartWidth-1, height-1, fmt.Sprintf(`rx="8" fill="%s" stroke="%s"`, surface, border))
	card.text(margin, 40, pen{size: 20, fill: ink, bold: true}, fit(f.title, 20*bolder, inner))
	card.text(margin, 62, pen{size: 13, fill: soft}, fit(f.subtitle, 13, inner))
	for i, line := range foot {
		card.text(margin, headHeight+f.height+28+footLine*float64(i), pen{size: footSize, fill: soft}, line)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" `,
		pixels(chartWidth), pixels(height), pixels(chartWidth), pixels(height))
	fmt.Fprintf(&out, `role="img" aria-labelledby="%s-title %s-desc" `, f.name, f.name)
	fmt.Fprintf(&out, `font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">`+"\n")
	fmt.Fprintf(&out, "<title id=\"%s-title\">%s</title>\n", f.name, escapeXML(f.title))
	fmt.Fprintf(&out, "<desc id=\"%s-desc\">%s</desc>\n", f.name, escapeXML(f.desc))
	out.Write(card.Bytes())
	out.Write(f.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// canvas collects shapes, one a line.
type canvas struct{ bytes.Buffer }

type pen struct {
	size   float64
	fill   string
	anchor string // "", "middle" or "end"
	bold   bool
	halo   bool // keeps lines behind the text away from it
}

func (c *canvas) text(x, y float64, p pen, text string) {
	more := ""
	if p.anchor != "" {
		more += fmt.Sprintf(` text-anchor="%s"`, p.anchor)
	}
	if p.bold {
		more += ` font-weight="600"`
	}
	if p.halo {
		more += fmt.Sprintf(` stroke="%s" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`, surface)
	}
	fmt.Fprintf(c, "<text x=\"%s\" y=\"%s\" font-size=\"%s\" fill=\"%s\"%s>%s</text>\n",
		pixels(x), pixels(y), pixels(p.size), p.fill, more, escapeXML(text))
}

func (c *canvas) rect(x, y, width, height float64, attributes string) {
	fmt.Fprintf(c, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" %s/>\n",
		pixels(x), pixels(y), pixels(width), pixels(height), attributes)
}

func (c *canvas) line(x1, y1, x2, y2, width float64, colour string) {
	fmt.Fprintf(c, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>\n",
		pixels(x1), pixels(y1), pixels(x2), pixels(y2), colour, pixels(width))
}

func (c *canvas) polyline(points []point, width float64, colour string) {
	var at bytes.Buffer
	for i, p := range points {
		if i > 0 {
			at.WriteByte(' ')
		}
		fmt.Fprintf(&at, "%s,%s", pixels(p.x), pixels(p.y))
	}
	fmt.Fprintf(c, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"/>\n",
		at.String(), colour, pixels(width))
}

type point struct{ x, y float64 }

const (
	circle = iota
	square
	diamond
	triangle
	shapes
)

// mark draws one of the shapes, so that colour is never the only difference.
func (c *canvas) mark(shape int, at point, radius float64, fill, stroke string) {
	style := fmt.Sprintf(`fill="%s" stroke="%s" stroke-width="1.5"`, fill, stroke)
	r, side := radius, radius*1.2
	switch shape % shapes {
	case circle:
		fmt.Fprintf(c, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\" %s/>\n", pixels(at.x), pixels(at.y), pixels(r), style)
	case square:
		c.rect(at.x-r*0.9, at.y-r*0.9, r*1.8, r*1.8, style)
	case diamond:
		fmt.Fprintf(c, "<path d=\"M%s %sL%s %sL%s %sL%s %sZ\" %s/>\n", pixels(at.x), pixels(at.y-side),
			pixels(at.x+side), pixels(at.y), pixels(at.x), pixels(at.y+side), pixels(at.x-side), pixels(at.y), style)
	case triangle:
		fmt.Fprintf(c, "<path d=\"M%s %sL%s %sL%s %sZ\" %s/>\n", pixels(at.x), pixels(at.y-side),
			pixels(at.x+side), pixels(at.y+r), pixels(at.x-side), pixels(at.y+r), style)
	}
}

func pixels(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func escapeXML(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer takes all
	return out.String()
}
