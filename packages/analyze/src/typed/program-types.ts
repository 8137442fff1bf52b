/**
 * The compiler's knowledge about a program, requested once and again only where it may have changed.
 *
 * I1. The compiler has the texts that the analysis has: it gets every one that changed.
 * I2. An answer is used again only for the same text and the same positions, and only when no other
 *     file has changed its public types.
 */
import type { ParsedFile } from '../frontend/parse.ts'
import type { Asked, SymbolsByFile, TypeProblem } from '../frontend/types/types-protocol.ts'
import { TypesThread } from '../frontend/types/types-thread.ts'
import type { TypesThreadOptions } from '../frontend/types/types-thread.ts'
import type { SymbolFacts, TypeSource } from '../frontend/types.ts'
import { shapeOf } from './shape.ts'

interface Answered {
  readonly positions: readonly number[]
  readonly symbols: readonly (SymbolFacts | undefined)[]
}

export class ProgramTypes {
  readonly #thread: TypesThread
  readonly #files: ReadonlySet<string>
  #parsed = new Map<string, ParsedFile>()
  #answers = new Map<string, Answered>()
  #hasFailed = false

  /** Starts the compiler at once; it loads the program while others parse. */
  constructor(options: TypesThreadOptions) {
    this.#thread = new TypesThread(options)
    this.#files = new Set(options.files)
  }

  get source(): TypeSource['kind'] {
    return this.#thread.source
  }

  /** The process of the compiler, when it has one. */
  get compilerPid(): number | undefined {
    return this.#thread.compilerPid
  }

  /** Whether every compiler has failed. It is reported once: later questions get no second report. */
  get isLost(): boolean {
    return this.#hasFailed && this.source === 'none'
  }

  /** Whether it was started for these files: what imports mean may depend on any of them. */
  isFor(files: readonly string[]): boolean {
    return files.length === this.#files.size && files.every((file) => this.#files.has(file))
  }

  takeProblems(): readonly TypeProblem[] {
    const problems = this.#thread.takeProblems()
    this.#hasFailed ||= problems.some(({ isLost }) => isLost)
    return problems
  }

  /**
   * The program as it was read. Tells the compiler what changed since the last time, so that it works
   * while others lower, and forgets what that makes doubtful.
   */
  read(parsed: readonly ParsedFile[]): void {
    const before = this.#parsed
    this.#parsed = new Map(parsed.map((one) => [one.file, one]))
    if (before.size === 0) return
    const changed = parsed.filter(({ file, text }) => before.get(file)?.text !== text)
    if (changed.length === 0) return
    const isShown = changed.some((one) => {
      const old = before.get(one.file)
      return old === undefined || shapeOf(old) !== shapeOf(one)
    })
    this.#thread.update({
      changed: new Map(changed.map(({ file, text }) => [file, text])),
      isShown,
    })
    if (isShown) this.#answers.clear()
    else for (const { file } of changed) this.#answers.delete(file)
  }

  /**
   * The meaning of the names at positions of files, in the text that was read last.
   *
   * *Cancellation*: none of its own; see {@link TypesThread.ask}.
   * *Fairness*: for one caller at a time.
   */
  async symbolsOf(asked: Asked): Promise<SymbolsByFile> {
    const fresh: Asked = new Map(
      [...asked].filter(([file, positions]) => !isSame(this.#answers.get(file), positions)),
    )
    for (const [file, symbols] of await this.#thread.ask(fresh)) {
      this.#answers.set(file, { positions: fresh.get(file) ?? [], symbols })
    }
    return new Map([...asked.keys()].map((file) => [file, this.#answers.get(file)?.symbols ?? []]))
  }

  /** *Cancellation*: none. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}

function isSame(known: Answered | undefined, positions: readonly number[]): boolean {
  return (
    known !== undefined &&
    known.positions.length === positions.length &&
    known.positions.every((position, index) => position === positions[index])
  )
}
