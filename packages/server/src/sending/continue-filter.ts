const digitOne = 0x31;
const digitTwo = 0x32;
const cr = 0x0d;
const lf = 0x0a;

/** `HTTP/1.1 ` comes before the three digits of the status. */
const statusAt = 9;
const statusEnd = statusAt + 3;

/**
 * Turns `100 Continue` into `102 Processing` in the bytes before a response. undici closes a connection on an
 * unexpected 100 but skips a 102, and some receivers and proxies send a 100. One digit changes in place, so nothing
 * is buffered and the bytes may be split anywhere.
 */
export class ContinueFilter {
  /** False once the status is final: the bytes after it are not examined. */
  #isOpen = false;
  /** Bytes of the current head seen so far, up to the end of its status. */
  #seen = 0;
  #status = 0;
  /** How many bytes of the blank line that ends a head have been seen in a row. */
  #blank = 0;

  /** Expects the response to a new request. */
  open(): void {
    this.#isOpen = true;
    this.#nextHead();
  }

  pass(chunk: Buffer): void {
    for (let index = 0; this.#isOpen && index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (this.#seen === statusEnd) {
        this.#blank = byte === (this.#blank % 2 === 0 ? cr : lf) ? this.#blank + 1 : Number(byte === cr);
        if (this.#blank === 4) this.#nextHead();
        continue;
      }
      if (this.#seen === statusAt) this.#isOpen = byte === digitOne;
      if (this.#seen >= statusAt) this.#status = this.#status * 10 + byte - 0x30;
      this.#seen += 1;
      if (this.#seen === statusEnd && this.#status === 100) chunk[index] = digitTwo;
    }
  }

  #nextHead(): void {
    this.#seen = 0;
    this.#status = 0;
    this.#blank = 0;
  }
}
