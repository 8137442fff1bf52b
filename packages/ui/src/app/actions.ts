/** What can be done now: filled by the shell and by the page that is shown, read by the palette and by the keys. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { Keymap, type KeyBinding } from './keys.ts'

export const keymap = new Keymap()

/** An entry of the command palette. */
export interface Command {
  readonly id: string
  readonly title: string
  /** Shown at the right: the key, or what kind of thing it is. */
  readonly hint?: string
  readonly run: () => void
}

/** Returns commands for the typed text, at most some dozens: nodes of a run, runs by title. */
export type CommandSource = (query: string) => readonly Command[] | Promise<readonly Command[]>

const sources = new Set<CommandSource>()

export const commandSources: ReadonlySet<CommandSource> = sources

/** Whether the palette, or the help of keys, is open. */
export const overlay = signal<'none' | 'palette' | 'keys'>('none')

/** Adds commands for as long as the component is shown, as `useKeys` does. `inputs`: when one of them changes they are added again. */
export function useCommands(source: CommandSource, inputs: readonly unknown[]): void {
  useLayoutEffect(() => {
    sources.add(source)
    return () => {
      sources.delete(source)
    }
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the caller names what the source depends on
  }, [...inputs])
}

/** What can be done with what is shown: by a key, and by name in the palette. */
export interface Action {
  readonly id: string
  readonly key: string
  readonly title: string
  /** Heading in the help of keys. */
  readonly group: string
  readonly run: () => void
}

export function useActions(actions: readonly Action[], inputs: readonly unknown[]): void {
  useKeys(
    actions.map(({ key, title, group, run }) => ({ keys: key, label: title, group, run })),
    inputs,
  )
  useCommands(
    () => actions.map(({ id, key, title, run }) => ({ id, title, hint: key, run })),
    inputs,
  )
}

/** Binds keys for as long as the component is shown: from the moment it is, before the next frame is drawn. */
export function useKeys(bindings: readonly KeyBinding[], inputs: readonly unknown[]): void {
  useLayoutEffect(() => keymap.add(bindings), [...inputs])
}
