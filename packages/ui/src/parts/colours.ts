/** The colours of the theme, for drawings on a canvas. */
import { effect, signal } from '@preact/signals'
import { theme } from '../app/theme.ts'
import { nodeStates } from '../api/contract.ts'

export interface Colours {
  readonly text: string
  readonly soft: string
  readonly quiet: string
  readonly line: string
  readonly lineStrong: string
  readonly surface: string
  readonly sunken: string
  readonly accent: string
  /** Indexed like `nodeStates`. */
  readonly states: readonly string[]
  readonly grounds: readonly string[]
  readonly texts: readonly string[]
  readonly font: string
}

const names: Readonly<Record<string, string>> = { interrupted: 'retrying' }

function read(): Colours {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  const states = nodeStates.map((state) => names[state] ?? state)
  return {
    text: of('text'),
    soft: of('text-2'),
    quiet: of('text-3'),
    line: of('line'),
    lineStrong: of('line-strong'),
    surface: of('surface'),
    sunken: of('sunken'),
    accent: of('accent'),
    states: states.map((state) => of(state)),
    grounds: states.map((state) => of(`${state}-ground`)),
    texts: states.map((state) => of(`${state}-text`)),
    font: of('font'),
  }
}

/** Colours for the lines of a chart that do not show states: as many as a reader can distinguish. */
export function lineColours({ accent, states }: Colours): readonly string[] {
  return [accent, ...[4, 3, 9, 6, 2].map((state) => states[state]!)]
}

const current = signal<Colours | undefined>(undefined)

/** Read again when the theme changes. */
export function colours(): Colours {
  current.value ??= read()
  return current.value
}

effect(() => {
  void theme.value
  // After the attribute of the page was set, which another effect does.
  queueMicrotask(() => {
    current.value = read()
  })
})
