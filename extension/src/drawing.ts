// Text on the screen, in lines that fit: Pi does not cut lines that are too wide, it stops.

/** What Pi draws. */
export interface Drawing {
  render(width: number): string[];
  invalidate(): void;
}

/** A title, and a few lines of text below it. */
export function titledText(title: string, text: string, paint: (title: string) => string, linesMax: number): Drawing {
  return {
    render: (width) => {
      const [first = ""] = wrapped(title, width, 1);
      return [paint(first), ...wrapped(text, width, linesMax)];
    },
    invalidate: () => {},
  };
}

/** At most so many lines of at most this width; what is left out is an ellipsis. Control characters would move the cursor. */
export function wrapped(text: string, width: number, linesMax: number): string[] {
  const lines: string[] = [];
  let rest = text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]+/g, " ").trim();
  while (rest && lines.length < linesMax) {
    const [line, after] = takeLine(rest, width);
    lines.push(line);
    rest = after;
  }
  const last = lines.pop();
  if (last === undefined) return [];
  return [...lines, rest ? `${fitting(last, width - 2)}…` : last];
}

/** A line and what comes after it: cut at its end, else at a space, else where the width ends. */
function takeLine(text: string, width: number): [string, string] {
  const fits = fitting(text, width);
  const end = fits.indexOf("\n");
  if (end >= 0) return [fits.slice(0, end), text.slice(end + 1).trimStart()];
  const rest = text.slice(fits.length);
  if (!rest || /^\s/.test(rest)) return [fits, rest.trimStart()];
  const space = fits.lastIndexOf(" ");
  // A character that is wider than the whole width is left out, or nothing would ever come after it.
  const cut = space > 0 ? space : fits.length || [...text][0]!.length;
  return [fits.slice(0, cut), text.slice(cut).trimStart()];
}

/** As much of a text as fits. What is not plainly narrow counts twice: no terminal draws it wider. */
export function fitting(text: string, width: number): string {
  let fits = "";
  let cells = 0;
  for (const character of text) {
    cells += (character.codePointAt(0) ?? 0) < 0x300 ? 1 : 2;
    if (cells > width) break;
    fits += character;
  }
  return fits;
}

/** A time that goes on, in whole seconds. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
