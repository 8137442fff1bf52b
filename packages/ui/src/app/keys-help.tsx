/** All keys of this view and of every view. */
import type { JSX } from 'preact'
import { Dialog } from '../parts/dialog.tsx'
import { icons } from '../parts/icons.tsx'
import { keymap, overlay } from './actions.ts'
import type { KeyBinding } from './keys.ts'

function KeysTable(): JSX.Element {
  const groups = Map.groupBy(keymap.list(), (binding) => binding.group)
  return (
    <div class="keys">
      {[...groups].map(([group, bindings]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {bindings.map((binding) => (
              <Row key={binding.keys} binding={binding} />
            ))}
          </dl>
        </section>
      ))}
    </div>
  )
}

function Row({ binding }: { readonly binding: KeyBinding }): JSX.Element {
  return (
    <>
      <dt>
        {binding.keys.split(' ').map((key, index) => (
          <kbd key={index}>{keyName(key)}</kbd>
        ))}
      </dt>
      <dd class="soft">{binding.label}</dd>
    </>
  )
}

const names: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  'ctrl+k': 'Ctrl K',
  ' ': 'Space',
}

function keyName(key: string): string {
  return names[key] ?? key
}

export function KeysHelp(): JSX.Element {
  const close = (): void => {
    overlay.value = 'none'
  }
  return (
    <Dialog label="Keys" class="palette" onClose={close}>
      <div class="dialog">
        <div class="row">
          <h2 class="grow">Keys</h2>
          <button class="button plain small" type="button" onClick={close} aria-label="Close">
            {icons.close}
          </button>
        </div>
        <KeysTable />
      </div>
    </Dialog>
  )
}
