// Two charts of the iterations that were loaded, oldest on the left.

const chartWide = 420;
const chartHigh = 120;

function frame(ticks, parts, label) {
  return svg("svg", {viewBox: "0 0 " + chartWide + " " + (chartHigh + 8), role: "img", "aria-label": label},
    ticks.map(([y, text]) => [
      svg("line", {class: "grid", x1: 0, x2: chartWide, y1: y, y2: y}),
      svg("text", {class: "tick", x: 0, y: y - 3}, text)]),
    parts);
}

const chartRows = () => run.rows.slice(0, 120).reverse();

function drawCost() {
  const list = chartRows();
  const costs = list.map((r) => Number(r.cost_usd || 0));
  const s = run.state;
  const limit = s.limits ? Number(s.limits.session_usd) : 0;
  show("cost-note", money((s.cost_usd || {}).total) + " in all" + (limit ? " · session limit " + money(limit) : ""));
  const most = Math.max(...costs, 0);
  if (!list.length || most === 0) {
    show("cost-chart", h("p", {class: "empty"}, list.length ? "no agent has reported a cost" : "no iteration yet"));
    return;
  }
  const step = chartWide / Math.max(list.length, 12);
  const all = costs.reduce((a, b) => a + b, 0);
  let sum = 0;
  const line = costs.map((c, i) => {
    sum += c;
    const y = chartHigh - (sum / all) * (chartHigh - 14);
    return (i ? "L" : "M") + ((i + 0.5) * step).toFixed(1) + " " + y.toFixed(1);
  });
  show("cost-chart", frame([[chartHigh - (chartHigh - 14), money(most)]], [
    list.map((r, i) => svg("rect", {class: "bar-" + r.verdict, rx: Math.min(2, step / 4), x: i * step + step * 0.14,
      width: step * 0.72, y: chartHigh - (costs[i] / most) * (chartHigh - 14),
      height: Math.max(1, (costs[i] / most) * (chartHigh - 14))},
      svg("title", {}, "iteration " + r.iteration + ": " + money(costs[i])))),
    svg("path", {class: "sum", d: line.join("")},
      svg("title", {}, "the sum of the iterations shown: " + money(all))),
  ], "cost of each iteration"));
}

function drawContext() {
  const list = chartRows();
  const s = run.state;
  const soft = (s.limits || {}).handoff_percent || 60;
  const hard = (s.limits || {}).hard_percent || 80;
  const y = (pct) => chartHigh - (Math.min(pct, 100) / 100) * (chartHigh - 6);
  show("context-note", s.context_at ? s.context_percent + " % of the window now" : "share of the model's window");
  const known = list.filter((r) => r.context_peak > 0);
  if (!known.length) {
    show("context-chart", h("p", {class: "empty"}, "no agent has said how full its window was"));
    return;
  }
  const step = chartWide / Math.max(list.length, 12);
  show("context-chart", frame([[y(soft), soft + " % handoff"], [y(hard), hard + " % end"]], [
    svg("rect", {class: "zone", x: 0, width: chartWide, y: y(soft), height: y(40) - y(soft)},
      svg("title", {}, "the best zone: 40 to " + soft + " %")),
    list.map((r, i) => r.context_peak > 0 && svg("circle", {
      class: "dot" + (r.context_peak >= hard ? " high" : r.context_peak > soft ? " warm" : ""),
      cx: (i + 0.5) * step, cy: y(r.context_peak), r: 3.5},
      svg("title", {}, "iteration " + r.iteration + ": " + r.context_peak + " % at most"))),
  ], "how full the window was at most in each iteration"));
}
