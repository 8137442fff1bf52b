import type { RowResult } from './row.ts'
import { renderTable } from './table.ts'

/**
 * Prints results. With `json`, each row as soon as it is played, as elements of one array: a bench that is ended early has
 * printed what it has. The table is printed at the end, because its columns are as wide as all of its rows need.
 */
export class Results {
  readonly #rows: RowResult[] = []
  readonly #isJson: boolean
  readonly #write: (text: string) => void

  constructor(isJson: boolean, write: (text: string) => void) {
    this.#isJson = isJson
    this.#write = write
  }

  /** Whether ours failed in a row. */
  get hasFailed(): boolean {
    return this.#rows.some(({ ours }) => ours === null)
  }

  add(row: RowResult): void {
    if (this.#isJson) {
      const text = JSON.stringify(row, undefined, 2).replaceAll(/^/gm, '  ')
      this.#write(`${this.#rows.length === 0 ? '[' : ','}\n${text}`)
    }
    this.#rows.push(row)
  }

  end(): void {
    if (!this.#isJson) this.#write(`${renderTable(this.#rows)}\n`)
    else this.#write(this.#rows.length === 0 ? '[]\n' : '\n]\n')
  }
}
