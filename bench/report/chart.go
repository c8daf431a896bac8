package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const chartWidth = 640 // points

// newPlot returns a plot with sans-serif texts, a title on the left and a light grid.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(8)
	p.Title.TextStyle.Font = sans(13, xfont.WeightBold)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(10, xfont.WeightNormal)
		axis.Tick.Label.Font = sans(10, xfont.WeightNormal)
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = grey, grey
	}
	p.Legend.TextStyle.Font, p.Legend.Padding = sans(10, xfont.WeightNormal), vg.Points(3)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = light, light
	p.Add(grid)
	return p
}

func sans(size float64, weight xfont.Weight) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Points(size)}
}

var (
	grey  = color.RGBA{0x8a, 0x8f, 0x98, 0xff}
	light = color.RGBA{0xe6, 0xe8, 0xeb, 0xff}
)

// colorOf gives every subject the same color in all charts: Bursar blue, the bare handler grey.
func colorOf(subject string) color.Color {
	colors := map[string]color.RGBA{
		"bursar-sqlite": {0x1f, 0x5f, 0xd0, 0xff}, "bursar-postgres": {0x6f, 0xa8, 0xf0, 0xff}, "bare": grey,
		"pocketbase": {0xd9, 0x7a, 0x1a, 0xff}, "pocketbase-full": {0xf0, 0xb8, 0x6c, 0xff},
		"kratos-sqlite": {0x7a, 0x4f, 0xb0, 0xff}, "kratos-postgres": {0xb5, 0x98, 0xd8, 0xff},
	}
	if c, ok := colors[subject]; ok {
		return c
	}
	return color.Black
}

// logTicks marks the powers of ten between the ends of an axis.
func logTicks(format func(float64) string) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) (out []plot.Tick) {
		for v := math.Pow10(exponent(low)); v <= high*1.001; v *= 10 {
			if v >= low*0.999 {
				out = append(out, plot.Tick{Value: v, Label: format(v)})
			}
		}
		return out
	})
}

// render draws on a white panel, which reads well on light and dark pages.
func render(height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	const margin = 12
	canvas := vgsvg.New(chartWidth, height)
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	paint(draw.Crop(whole, margin, -margin, margin, -margin))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw a chart: %w", err)
	}
	// Arial and Helvetica have the same widths as Liberation Sans, which few browsers have.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// Throughput draws a bar for each subject under each of the workloads, on a logarithmic scale:
// subjects may differ by a factor of a hundred.
func Throughput(r Report, workloads []string) ([]byte, error) {
	p := newPlot("Requests per second (logarithmic scale; the black line is the range of the repeats)")
	var ticks []plot.Tick
	low, high, y := math.Inf(1), 0.0, 0.0
	var bars []Measurement
	var places []float64
	labels := &plotter.Labels{Offset: vg.Point{X: 5}}
	for _, workload := range workloads {
		title := ""
		for _, subject := range r.Subjects {
			m, ok := r.Find(workload, subject.Name)
			if !ok || m.Value.Min <= 0 {
				continue
			}
			if title == "" {
				title = m.Title
				ticks = append(ticks, plot.Tick{Value: y, Label: strings.ToUpper(title)})
				y--
			}
			ticks = append(ticks, plot.Tick{Value: y, Label: subject.Title})
			bars, places = append(bars, m), append(places, y)
			low, high = min(low, m.Value.Min), max(high, m.Value.Max)
			labels.XYs = append(labels.XYs, plotter.XY{X: m.Value.Max, Y: y})
			labels.Labels = append(labels.Labels, short(m.Value.Median, m.Unit))
			labels.TextStyle = append(labels.TextStyle, text.Style{Color: color.Black, Font: sans(9, xfont.WeightNormal), YAlign: draw.YCenter, Handler: p.TextHandler})
			y--
		}
		y -= 0.4
	}
	if len(bars) > 0 {
		low = math.Pow10(exponent(low))
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks(plain)
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
	for i, m := range bars {
		p.Add(bar(low, m.Value.Median, places[i], vg.Points(10), colorOf(m.Subject)), bar(m.Value.Min, m.Value.Max, places[i], vg.Points(1), color.Black))
	}
	p.Add(labels)
	p.X.Min, p.X.Max = low, high*2.5 // room for the labels
	p.Y.Min, p.Y.Max = y, 1
	return render(vg.Points(70-13.5*y), func(c draw.Canvas) { p.Draw(c) })
}

func bar(from, to, y float64, width vg.Length, c color.Color) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: from, Y: y}, {X: to, Y: y}}, LineStyle: draw.LineStyle{Width: width, Color: c}}
}

// Latencies draws the percentiles of an open loop, a line for each subject.
func Latencies(r Report, workload string) ([]byte, error) {
	p := newPlot("Latency of the mixed load at half of the highest rate (milliseconds, logarithmic scale)")
	for _, subject := range r.Subjects {
		m, ok := r.Find(workload, subject.Name)
		if !ok || m.Latency == nil || m.Latency.P50 <= 0 {
			continue
		}
		var points plotter.XYs
		for i, ms := range m.Latency.all() {
			points = append(points, plotter.XY{X: float64(i), Y: ms})
		}
		addLine(p, subject.Title, points, colorOf(subject.Name))
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks(plain)
	}
	p.NominalX(percentiles()...)
	p.Legend.Top, p.Legend.Left = true, true
	if p.Y.Min > 0 && p.Y.Max > p.Y.Min {
		p.Y.Min = math.Pow10(exponent(p.Y.Min))
		p.Y.Max = math.Pow10(exponent(p.Y.Max) + 1)
	}
	return render(vg.Points(320), func(c draw.Canvas) { p.Draw(c) })
}

func addLine(p *plot.Plot, title string, points plotter.XYs, c color.Color) {
	line := &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Width: vg.Points(2), Color: c}}
	dots := &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Shape: draw.CircleGlyph{}, Radius: vg.Points(3), Color: c}}
	p.Add(line, dots)
	p.Legend.Add(title, line, dots)
}

// Cost draws the mean time of a request against the number of rows: a panel for each filter, a
// line for each subject. In a closed loop that time is the callers divided by the rate.
func Cost(r Report, filters []string, callers int) ([]byte, error) {
	panels := [][]*plot.Plot{nil}
	for i, filter := range filters {
		p := newPlot("List of 25 " + map[bool]string{true: "without a filter", false: "by " + filter}[i == 0])
		p.X.Label.Text, p.Y.Label.Text = "rows in the store", "milliseconds"
		for _, subject := range r.Subjects {
			var points plotter.XYs
			for _, m := range r.Measurements {
				if m.Subject == subject.Name && m.Value.Median > 0 && m.Workload == fmt.Sprintf("list/%d/%s", m.Rows, filter) {
					points = append(points, plotter.XY{X: float64(m.Rows), Y: 1000 * float64(callers) / m.Value.Median})
				}
			}
			if len(points) > 1 {
				slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
				addLine(p, subject.Title, points, colorOf(subject.Name))
				p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks(plain)
			}
		}
		p.Y.Min, p.Y.Max = 0, p.Y.Max*1.6 // room for the legend
		p.Legend.Top = true
		if len(panels[len(panels)-1]) == 2 {
			panels = append(panels, nil)
		}
		panels[len(panels)-1] = append(panels[len(panels)-1], p)
	}
	return render(vg.Points(230*float64(len(panels))), func(c draw.Canvas) {
		tiles := draw.Tiles{Rows: len(panels), Cols: 2, PadX: vg.Points(16), PadY: vg.Points(16)}
		for row, canvases := range plot.Align(panels, tiles, c) {
			for column, canvas := range canvases {
				panels[row][column].Draw(canvas)
			}
		}
	})
}
