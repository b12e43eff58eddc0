// The page of `quern explain --html`: one file with its data, styles and script.
// Written by hand, without any library, so that it opens from a mail or a disk years later.
#include "cli/explain_report.h"

namespace quern::cli {
namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light; --bg: #f6f5f2; --card: #fff; --text: #1d2021; --dim: #6c6a66;
  --line: #e3e0da; --track: #eceae5; --mark: #b45309;
  --c0: #2f6f9f; --c1: #d97b29; --c2: #4f9d69; --c3: #b04a5a; --c4: #8067a8; --c5: #8a7a52;
  --c6: #5d8f95; --c7: #9a9a9a; }
:root[data-theme=dark] { color-scheme: dark; --bg: #16181a; --card: #1f2225; --text: #e8e6e1;
  --dim: #9b9891; --line: #33373b; --track: #2b2f33; --mark: #f0a35e;
  --c0: #5aa2d6; --c1: #f0a050; --c2: #74c590; --c3: #e0798a; --c4: #ab92d6; --c5: #c2b07f;
  --c6: #86c0c6; --c7: #b5b5b5; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 24px 60px; }
header { display: flex; align-items: baseline; gap: 16px; flex-wrap: wrap; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 15px; margin: 26px 0 8px; }
.dim { color: var(--dim); } .right { margin-left: auto; }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 7px; padding: 5px 13px; cursor: pointer; }
button.on { background: var(--text); color: var(--bg); border-color: var(--text); }
.tabs { display: flex; gap: 8px; margin: 16px 0 12px; align-items: center; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 10px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 9px;
  padding: 10px 14px; }
.card b { display: block; font-size: 21px; font-weight: 650; white-space: nowrap; }
.says { font-size: 16px; margin: 18px 0 2px; }
.strip { display: flex; height: 40px; border-radius: 7px; overflow: hidden; background: var(--track); }
.strip div { min-width: 1px; display: flex; align-items: center; justify-content: center;
  color: #fff; font-size: 12px; white-space: nowrap; overflow: hidden; }
:root[data-theme=dark] .strip div { color: #14161a; }
.pair { display: grid; grid-template-columns: 52px 1fr; gap: 7px 10px; align-items: center; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0 0 62px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
table { width: 100%; border-collapse: collapse; background: var(--card);
  border: 1px solid var(--line); border-radius: 9px; overflow: hidden; }
th, td { text-align: left; padding: 6px 10px; border-top: 1px solid var(--line);
  vertical-align: middle; }
thead th { border-top: 0; font-weight: 600; cursor: pointer; user-select: none;
  color: var(--dim); white-space: nowrap; }
thead th.sorted { color: var(--text); }
td.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { position: relative; height: 17px; background: var(--track); border-radius: 4px;
  min-width: 110px; }
.bar > div { height: 100%; border-radius: 4px; min-width: 1px; }
.bar > i { position: absolute; top: -2px; bottom: -2px; width: 2px; background: var(--text); }
tr.group { cursor: pointer; } tr.group:hover, tr.node:hover { background: var(--track); }
tr.node td { font-size: 12.5px; color: var(--dim); border-top-style: dotted; }
tr.node td:first-child { padding-left: 34px; }
.name { font-weight: 600; } .swatch { display: inline-block; width: 10px; height: 10px;
  border-radius: 3px; margin-right: 8px; }
.op { font: 12px ui-monospace, monospace; color: var(--dim); }
.layers { display: flex; align-items: flex-end; gap: 2px; height: 92px; background: var(--card);
  border: 1px solid var(--line); border-radius: 9px; padding: 8px 10px; }
.layers div { flex: 1; display: flex; flex-direction: column-reverse; min-width: 3px; }
.layers span { display: block; }
input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 7px; padding: 5px 10px; width: 230px; }
@media (max-width: 760px) { .hide { display: none; } .bar { min-width: 60px; } }
)css";

constexpr std::string_view kBody = R"html(
<main>
<header><h1 id="title"></h1><span class="dim" id="where"></span>
<button class="right" id="theme" title="Light or dark">&#9680;</button></header>
<div class="tabs" id="tabs"></div>
<div class="cards" id="cards"></div>
<p class="says" id="says"></p>
<h2>Where time and bytes go</h2>
<div class="pair"><span class="dim">time</span><div class="strip" id="time"></div>
<span class="dim">bytes</span><div class="strip" id="bytes"></div></div>
<div class="legend" id="legend"></div>
<div id="layer-part"><h2>Time of each layer <span class="dim" id="layer-note"></span></h2>
<div class="layers" id="layers"></div></div>
<h2 style="display:flex;align-items:center;gap:12px">Kinds of nodes
<span class="dim" style="font-weight:400">a click opens one; a click on a heading sorts; the mark on
a time bar is the roof</span><input class="right" id="filter" placeholder="filter by name"></h2>
<table><thead><tr id="head"></tr></thead><tbody id="rows"></tbody></table>
</main>
)html";

constexpr std::string_view kScript = R"js(
const D = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const el = (tag, attributes, ...inside) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'style') e.style.cssText = v; else if (k === 'click') e.onclick = v;
    else e.setAttribute(k, v);
  }
  e.append(...inside); return e;
};
const time = n => n.measured_us ?? n.predicted_us;
const bytes = n => n.weight_bytes + n.read_bytes + n.write_bytes;
const us = v => v >= 1000 ? (v / 1000).toFixed(v >= 10000 ? 1 : 2) + ' ms' : v.toFixed(v >= 100 ? 0 : 1) + ' µs';
const size = v => { const u = ['B', 'KB', 'MB', 'GB']; let i = 0;
  while (v >= 1000 && i < 3) { v /= 1000; i++; } return v.toFixed(i && v < 100 ? 1 : 0) + ' ' + u[i]; };
const pct = v => (100 * v).toFixed(v < 0.0995 ? 1 : 0) + ' %';
const sum = (a, f) => a.reduce((s, x) => s + f(x), 0);
let phase = 0, sortKey = 'time', sortUp = false, open = new Set();
let families = [];
const color = f => `var(--c${Math.min(7, families.indexOf(f))})`;

function groupsOf(p) {
  const map = new Map();
  for (const n of p.nodes) {
    if (!map.has(n.group)) map.set(n.group, {name: n.group, family: n.family, op: n.op,
      kernel: n.kernel, bound: n.bound, nodes: []});
    map.get(n.group).nodes.push(n);
  }
  return [...map.values()].map(g => ({...g, count: g.nodes.length, time: sum(g.nodes, time),
    bytes: sum(g.nodes, bytes), roof: sum(g.nodes, n => n.roof_us)}));
}
function strip(id, parts, total, text) {
  $(id).replaceChildren(...parts.filter(p => p.value > 0).map(p => {
    const share = p.value / total;
    return el('div', {style: `width:${100 * share}%;background:${color(p.family)}`,
      title: `${p.family}: ${text(p.value)}, ${pct(share)}`},
      share > 0.075 ? `${p.family} ${pct(share)}` : share > 0.03 ? pct(share) : '');
  }));
}
function bar(share, c, mark) {
  const b = el('div', {class: 'bar'}, el('div', {style: `width:${100 * share}%;background:${c}`}));
  if (mark !== undefined) b.append(el('i', {style: `left:${100 * Math.min(1, mark)}%`,
    title: 'what the roof allows'}));
  return b;
}
function meter(share) {
  return el('div', {style: 'display:flex;gap:8px;align-items:center'},
    el('div', {class: 'bar', style: 'min-width:52px;width:52px'},
      el('div', {style: `width:${100 * Math.min(1, share)}%;background:var(--dim)`})),
    el('span', {class: 'dim'}, pct(Math.min(share, 9.99))));
}
const heads = [['name', 'node'], ['time', 'time'], ['bytes', 'bytes'],
  ['share', 'of the roof'], ['bound', 'limit'], ['kernel', 'kernel']];
function rowCells(x, total, most, totalBytes, mostBytes, first) {
  return [first,
    el('td', {}, el('div', {style: 'display:flex;gap:10px;align-items:center'},
      el('div', {style: 'flex:1'}, bar(x.time / most, color(x.family), x.roof / most)),
      el('span', {style: 'min-width:110px;text-align:right'}, us(x.time) + '  ' + pct(x.time / total)))),
    el('td', {class: 'hide'}, el('div', {style: 'display:flex;gap:10px;align-items:center'},
      el('div', {style: 'flex:1'}, bar(x.bytes / mostBytes, color(x.family))),
      el('span', {style: 'min-width:108px;text-align:right'}, size(x.bytes) + '  ' + pct(x.bytes / totalBytes)))),
    el('td', {}, meter(x.time > 0 ? x.roof / x.time : 0)),
    el('td', {class: 'dim hide'}, x.bound),
    el('td', {class: 'dim hide'}, x.kernel)];
}
function table(p) {
  const groups = groupsOf(p), total = sum(groups, g => g.time), totalBytes = sum(groups, g => g.bytes);
  const most = Math.max(...groups.map(g => Math.max(g.time, g.roof))) || 1;
  const mostBytes = Math.max(...groups.map(g => g.bytes)) || 1;
  const key = {name: g => g.name, time: g => g.time, bytes: g => g.bytes,
    share: g => g.roof / g.time, bound: g => g.bound, kernel: g => g.kernel}[sortKey];
  groups.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (sortUp ? 1 : -1));
  $('head').replaceChildren(...heads.map(([k, label]) => el('th',
    {class: (k === sortKey ? 'sorted ' : '') + (['bytes', 'bound', 'kernel'].includes(k) ? 'hide' : ''),
     click: () => { sortUp = k === sortKey ? !sortUp : k === 'name'; sortKey = k; table(p); }},
    label + (k === sortKey ? (sortUp ? ' ▲' : ' ▼') : ''))));
  const wanted = $('filter').value.toLowerCase(), rows = [];
  for (const g of groups) {
    if (wanted && !g.nodes.some(n => (n.name + ' ' + n.op).toLowerCase().includes(wanted))) continue;
    const first = el('td', {}, el('span', {class: 'swatch', style: `background:${color(g.family)}`}),
      el('span', {class: 'name'}, g.name), g.count > 1 ? ` × ${g.count}` : '',
      el('div', {class: 'op'}, g.op));
    rows.push(el('tr', {class: 'group', title: g.nodes[0].why,
      click: () => { open.has(g.name) ? open.delete(g.name) : open.add(g.name); table(p); }},
      ...rowCells(g, total, most, totalBytes, mostBytes, first)));
    if (!open.has(g.name)) continue;
    const worst = Math.max(...g.nodes.map(n => Math.max(time(n), n.roof_us)));
    const worstBytes = Math.max(...g.nodes.map(bytes)) || 1;
    for (const n of g.nodes) {
      rows.push(el('tr', {class: 'node', title: n.why},
        ...rowCells({time: time(n), roof: n.roof_us, bytes: bytes(n), family: n.family,
          bound: n.bound, kernel: n.why}, total, worst, totalBytes, worstBytes,
          el('td', {}, n.name, el('div', {class: 'op'}, 'on ' + n.device)))));
    }
  }
  $('rows').replaceChildren(...rows);
}
function layers(p) {
  const byLayer = new Map();
  for (const n of p.nodes) {
    const m = n.name.match(/^[a-z]+\.(\d+)\./);
    if (!m) continue;
    if (!byLayer.has(+m[1])) byLayer.set(+m[1], new Map());
    const f = byLayer.get(+m[1]); f.set(n.family, (f.get(n.family) || 0) + time(n));
  }
  $('layer-part').style.display = byLayer.size > 1 ? '' : 'none';
  if (byLayer.size < 2) return;
  const totals = [...byLayer].sort((a, b) => a[0] - b[0])
    .map(([i, f]) => [i, f, [...f.values()].reduce((s, v) => s + v, 0)]);
  const most = Math.max(...totals.map(t => t[2])), rest = sum(p.nodes, time) - sum(totals, t => t[2]);
  $('layer-note').textContent = `— ${totals.length} layers, outside of them ${us(rest)}`;
  $('layers').replaceChildren(...totals.map(([i, f, t]) => el('div',
    {title: `layer ${i}: ${us(t)}`}, ...families.filter(x => f.has(x)).map(x =>
      el('span', {style: `height:${76 * f.get(x) / most}px;background:${color(x)}`})))));
}
function show() {
  const p = D.phases[phase], total = sum(p.nodes, time), all = sum(p.nodes, bytes);
  const kind = D.measured ? 'measured' : 'predicted';
  const byFamily = new Map();
  for (const n of p.nodes) {
    const f = byFamily.get(n.family) || {family: n.family, time: 0, bytes: 0};
    f.time += time(n); f.bytes += bytes(n); byFamily.set(n.family, f);
  }
  const sums = [...byFamily.values()].sort((a, b) => b.time - a.time);
  families = sums.map(s => s.family);
  $('tabs').replaceChildren(...D.phases.map((q, i) => el('button', {class: i === phase ? 'on' : '',
    click: () => { phase = i; show(); }},
    q.tokens ? `${q.name}: ${q.tokens} token${q.tokens > 1 ? 's' : ''}` : q.name)));
  const card = (label, value, note) => el('div', {class: 'card'},
    el('span', {class: 'dim'}, label), el('b', {}, value), el('span', {class: 'dim'}, note || ''));
  $('cards').replaceChildren(
    card(`time of a run, ${kind}`, us(total), D.measured ? `predicted ${us(p.predicted_us)}` : ''),
    ...(p.tokens ? [card('speed', `${Math.round(1e6 * p.tokens / total)} tokens/s`,
      p.cached_rows ? `with ${p.cached_rows} cached` : '')] : []),
    card('of the roof', pct(p.roof_us / total), `${us(p.roof_us)} at the limits`),
    card('moved', size(all), `${size(p.weight_bytes)} of weights`),
    card('arithmetic', ((p.flops + p.int_ops) / 1e9).toFixed(2) + ' Gop',
      all ? ((p.flops + p.int_ops) / all).toFixed(1) + ' per byte' : ''),
    ...(p.arena_bytes !== undefined ? [card('arena', size(p.arena_bytes),
      `${pct(p.arena_bytes / Math.max(1, p.unplanned_bytes))} of unplanned`)] : []));
  const top = groupsOf(p).sort((a, b) => b.time - a.time).slice(0, 3);
  $('says').replaceChildren('Most time goes to ', ...top.flatMap((g, i) => [
    i ? (i === top.length - 1 ? ' and ' : ', ') : '',
    el('b', {style: `color:${color(g.family)}`}, g.name), ` (${pct(g.time / total)})`]), '.');
  strip('time', sums.map(s => ({family: s.family, value: s.time})), total, us);
  strip('bytes', sums.map(s => ({family: s.family, value: s.bytes})), all, size);
  $('legend').replaceChildren(...sums.map(s => el('span', {},
    el('i', {style: `background:${color(s.family)}`}), s.family,
    el('span', {class: 'dim'}, ` ${us(s.time)}, ${size(s.bytes)}`))));
  layers(p); table(p);
}
function setTheme(t) { document.documentElement.dataset.theme = t; }
setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
$('theme').onclick = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
$('filter').oninput = () => table(D.phases[phase]);
$('title').textContent = D.source.split(':')[0].split('/').pop();
$('where').textContent = D.source.split(':').slice(1).join(':').trim() + ` — on ${D.backend} (${D.arch}), ` +
  `${D.threads} thread${D.threads > 1 ? 's' : ''}, ${D.numerics}; roof ` +
  `${(D.roof.bytes_per_second / 1e9).toFixed(0)} GB/s, ${(D.roof.flops_per_second / 1e9).toFixed(0)} Gflop/s f32, ` +
  `${(D.roof.int_ops_per_second / 1e9).toFixed(0)} Gop/s int8`;
document.title = 'quern explain: ' + $('title').textContent;
show();
)js";

// The data stands inside of a script element, which only "</" could end.
std::string escaped(std::string json) {
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3) {
    json.replace(at, 2, "<\\/");
  }
  return json;
}

}  // namespace

// Styles, script and data in one text: the page works from a file and without a network.
std::string html_page(const ExplainReport& report) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\" data-theme=\"light\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>quern explain</title>\n<style>";
  page += kStyle;
  page += "</style>\n</head>\n<body>";
  page += kBody;
  page += "<script type=\"application/json\" id=\"data\">";
  page += escaped(to_json(report).dump());
  page += "</script>\n<script>";
  page += kScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace quern::cli
