/**
 * Keys: which sequence does what, on this page and everywhere.
 *
 * A binding is one key (`?`, `Escape`, `ctrl+k`) or two in a row (`g r`). Letters count only while no field has the
 * focus. A page adds its bindings when it is shown and removes them when it goes; the newest binding of a sequence wins.
 *
 * Invariants, quoted by the tests:
 *  K1  A sequence runs the newest binding that has it, and no other.
 *  K2  A first key that is not followed by a known second one within 1,200 ms does nothing.
 *  K3  A field that takes text gets its letters: only keys with ctrl or meta, and Escape, pass by it.
 */
export interface KeyBinding {
  /** `g r`, `?`, `ctrl+k`, `ArrowDown`. */
  readonly keys: string
  readonly label: string
  /** Heading in the help of keys. */
  readonly group: string
  readonly run: () => void
  /** Not shown in the help: another spelling of a binding that is. */
  readonly isHidden?: boolean
}

export interface KeyPress {
  readonly key: string
  readonly ctrl: boolean
  readonly alt: boolean
  /** Whether a field that takes text has the focus. */
  readonly inField: boolean
  /** Milliseconds. */
  readonly at: number
}

/** Milliseconds in which the second key of a sequence must follow. */
const sequenceLimit = 1_200

export class Keymap {
  #bindings: KeyBinding[] = []
  #first: { readonly name: string; readonly at: number } | undefined

  /** Adds bindings; the returned function removes them. */
  add(bindings: readonly KeyBinding[]): () => void {
    this.#bindings = [...this.#bindings, ...bindings]
    return () => {
      this.#bindings = this.#bindings.filter((binding) => !bindings.includes(binding))
    }
  }

  /** Everything that can be typed now, for the help: of equal sequences the newest. */
  list(): KeyBinding[] {
    const seen = new Map<string, KeyBinding>()
    for (const binding of this.#bindings) seen.set(binding.keys, binding)
    return [...seen.values()].filter((binding) => !binding.isHidden)
  }

  /** Returns whether the key was used. */
  press({ key, ctrl, alt, inField, at }: KeyPress): boolean {
    if (alt) return false
    const name = `${ctrl ? 'ctrl+' : ''}${key.length === 1 && ctrl ? key.toLowerCase() : key}`
    if (inField && !ctrl && key !== 'Escape') return false
    const first = this.#first
    this.#first = undefined
    if (first !== undefined && at - first.at <= sequenceLimit) {
      if (this.#run(`${first.name} ${name}`)) return true
    }
    if (this.#run(name)) return true
    if (this.#bindings.some((binding) => binding.keys.startsWith(`${name} `))) {
      this.#first = { name, at }
      return true
    }
    return false
  }

  #run(keys: string): boolean {
    const binding = this.#bindings.findLast((each) => each.keys === keys)
    binding?.run()
    return binding !== undefined
  }
}
