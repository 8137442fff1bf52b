/** Asks the worker for layouts. A question that was overtaken by a later one is not answered. */
import type { Edges } from './edges.ts'
import type { LayoutAnswer, LayoutQuestion } from './layout.worker.ts'
import { defaultSpacing, type Layout } from './layout.ts'

export class Layouter {
  readonly #worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
  readonly #onLayout: (layout: Layout) => void
  #asked = 0
  #answered = 0
  #waiting: Omit<LayoutQuestion, 'id'> | undefined

  constructor(onLayout: (layout: Layout) => void) {
    this.#onLayout = onLayout
    this.#worker.addEventListener('message', ({ data }: MessageEvent<LayoutAnswer>) => {
      this.#answered = data.id
      if (this.#waiting === undefined) this.#onLayout(data.layout)
      this.#send()
    })
  }

  ask(edges: Edges, before: Layout | undefined): void {
    this.#waiting = { edges, before, spacing: defaultSpacing }
    if (this.#asked === this.#answered) this.#send()
  }

  stop(): void {
    this.#worker.terminate()
  }

  #send(): void {
    if (this.#waiting === undefined) return
    const question: LayoutQuestion = { id: ++this.#asked, ...this.#waiting }
    this.#waiting = undefined
    this.#worker.postMessage(question)
  }
}
