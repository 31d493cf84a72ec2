// Splits bytes into lines. LF ends one, nothing else does: U+2028 and CR are characters like any other.

const LF = 0x0a;

export interface LineSink {
  line(text: string): void;
  /** A line above the limit was thrown away. */
  tooLong(bytes: number): void;
}

/** Holds at most one line of at most `bytesMax` bytes. */
export class LineSplitter {
  readonly #sink: LineSink;
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(sink: LineSink, bytesMax: number) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#take(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    this.#take(chunk.subarray(start));
  }

  #take(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#bytesMax) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #finish(): void {
    const parts = this.#parts;
    const bytes = this.#bytes;
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > this.#bytesMax) this.#sink.tooLong(bytes);
    else this.#sink.line(parts.length === 1 ? parts[0]!.toString("utf8") : Buffer.concat(parts, bytes).toString("utf8"));
  }
}
