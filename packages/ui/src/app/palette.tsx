/** The command palette: every view, every action of this view, and what the server finds. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { commandSources, overlay, type Command } from './actions.ts'
import { rank, type Match } from './match.ts'

const shown = 40

export function Palette(): JSX.Element {
  const [query, setQuery] = useState('')
  const [matches, setMatches] = useState<readonly Match<Command>[]>([])
  const [selected, setSelected] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const close = (): void => {
    overlay.value = 'none'
  }

  useEffect(() => {
    let isCurrent = true
    const collected: Command[] = []
    const show = (): void => {
      setMatches(rank(collected, query, (command) => command.title, shown))
      setSelected(0)
    }
    for (const source of commandSources) {
      const found = source(query)
      if (Array.isArray(found)) {
        collected.push(...(found as readonly Command[]))
        continue
      }
      void Promise.resolve(found).then(
        (later) => {
          if (!isCurrent) return
          collected.push(...later)
          show()
        },
        () => {
          // A source that cannot be asked now has nothing to offer.
        },
      )
    }
    show()
    return () => {
      isCurrent = false
    }
  }, [query])

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [selected])

  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    command.run()
  }
  const move = (by: number): void => {
    if (matches.length > 0) setSelected((selected + by + matches.length) % matches.length)
  }
  return (
    <Dialog label="Commands" class="palette" onClose={close}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label="Go to, or do"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={matches.length > 0 ? `command-${selected}` : undefined}
        placeholder="Go to a view, find a run or a node, do something"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1)
          else if (event.key === 'ArrowUp') move(-1)
          else if (event.key === 'Enter') run(matches[selected]?.item)
          else return
          event.preventDefault()
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {matches.map(({ item, positions }, index) => (
          <li
            key={item.id}
            id={`command-${index}`}
            role="option"
            aria-selected={index === selected}
            onClick={() => run(item)}
            onMouseMove={() => setSelected(index)}
          >
            <span class="cut">{marked(item.title, positions)}</span>
            {item.hint !== undefined && <span class="hint">{item.hint}</span>}
          </li>
        ))}
      </ul>
      {matches.length === 0 && <p class="empty">Nothing matches “{query}”.</p>}
    </Dialog>
  )
}

function marked(text: string, positions: readonly number[]): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = []
  let from = 0
  for (const at of positions) {
    if (at > from) parts.push(text.slice(from, at))
    parts.push(<mark key={at}>{text[at]}</mark>)
    from = at + 1
  }
  parts.push(text.slice(from))
  return parts
}
