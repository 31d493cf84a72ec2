//! How pages look: one style for both, in colours that differ in brightness too.

pub(super) const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1c2230;--soft:#586174;--line:#dde1e8;\
--good:#22794a;--bad:#b8322c;--warn:#9a6200;--none:#6b7385;--call:#3568c9;--try:#e6ebf5;--code:#f2f3f6}
@media (prefers-color-scheme:dark){:root{--page:#13161b;--card:#1a1e25;--ink:#e7eaf0;--soft:#a0a9ba;--line:#303743;\
--good:#5cc28d;--bad:#ff8078;--warn:#e2b044;--none:#929cae;--call:#7fa9ff;--try:#262d3a;--code:#20252e}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{max-width:1040px;margin:0 auto;padding:2.2rem 1.2rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2rem 0 .7rem}
p{margin:.4rem 0}
.over{color:var(--soft);font-size:.85rem;margin:0;overflow-wrap:anywhere}
.badge{display:inline-block;border:1.5px solid currentColor;border-radius:999px;padding:.1rem .8rem;font-weight:650}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}.none{color:var(--none)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:.7rem;margin:1.2rem 0 0;padding:0}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.6rem .9rem}
.tiles dt{color:var(--soft);font-size:.8rem}
.tiles dd{margin:0;font-size:1.15rem;font-weight:650;overflow-wrap:anywhere}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.8rem;overflow-x:auto}
figure svg{display:block;width:100%;min-width:640px;height:auto}
figcaption{color:var(--soft);font-size:.85rem;margin-top:.5rem}
svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}
svg .soft{fill:var(--soft)}svg .end{text-anchor:end}svg .mid{text-anchor:middle}svg .soft-end{fill:var(--soft);text-anchor:end}
svg .soft-mid{fill:var(--soft);text-anchor:middle}svg .mark{fill:var(--card);text-anchor:middle;font-weight:700}
svg .grid{stroke:var(--line);stroke-width:1}
svg .f-good{fill:var(--good)}svg .f-bad{fill:var(--bad)}svg .f-warn{fill:var(--warn)}svg .f-none{fill:var(--none)}
svg .f-call{fill:var(--call)}svg .f-try{fill:var(--try);stroke:var(--line)}svg .f-soft{fill:var(--line)}
svg .f-cut{fill:none;stroke:var(--none);stroke-width:1.5;stroke-dasharray:4 3}
svg .w-bad{fill:var(--bad);text-anchor:end}svg .w-warn{fill:var(--warn);text-anchor:end}svg .w-none{fill:var(--none);text-anchor:end}
svg .trend{fill:none;stroke:var(--call);stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}
svg .dot{fill:var(--call)}svg .moment{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}
table{border-collapse:collapse;width:100%;font-size:.9rem}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{text-align:left;vertical-align:top;padding:.45rem .7rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
tbody tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:600;font-size:.8rem;white-space:nowrap}
td.tight{white-space:nowrap;overflow-wrap:normal}\
td.num,th.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre,code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--code);border-radius:8px;padding:.7rem .9rem;margin:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
details{margin:.15rem 0}
summary{cursor:pointer;color:var(--soft)}
summary:focus-visible{outline:2px solid var(--call);outline-offset:2px}
ul{margin:.3rem 0;padding-left:1.3rem}
footer{color:var(--soft);font-size:.8rem;margin-top:3rem}
@media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--good:#1d6b41;--bad:#a52a25;--warn:#7d5000;\
--none:#555;--call:#2b57ab;--try:#eef1f6;--code:#f4f4f4}main{max-width:none;padding:0}figure,tr,.tiles div{break-inside:avoid}\
figure svg{min-width:0}details::details-content{content-visibility:visible;height:auto}rect,svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
";
