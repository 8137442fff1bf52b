/**
 * The command palette: every view, every action of this view, and the server's search results.
 *
 * Enter runs the selected command for the typed text, never one that was found for an earlier text: typed before
 * anything is found, it runs the first command that is.
 */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { commandSources, overlay, type Command } from './actions.ts'
import { rank, type Match } from './match.ts'

const shown = 40

interface Found {
  /** The query that found them. */
  readonly query: string
  readonly matches: readonly Match<Command>[]
}

export function Palette(): JSX.Element {
  const [query, setQuery] = useState('')
  const [shownNow, setShownNow] = useState<Found>({ query: '', matches: [] })
  const [selected, setSelected] = useState(0)
  /** What was typed when Enter came before its matches. */
  const wanted = useRef<string | undefined>(undefined)
  const { matches } = shownNow
  const list = useRef<HTMLUListElement>(null)
  const close = (): void => {
    overlay.value = 'none'
  }

  const run = (command: Command): void => {
    wanted.current = undefined
    close()
    command.run()
  }
  const onEnter = (typed: string): void => {
    const command = shownNow.query === typed ? matches[selected]?.item : undefined
    if (command === undefined) wanted.current = typed
    else run(command)
  }

  useEffect(() => {
    let isCurrent = true
    const collected: Command[] = []
    const show = (): void => {
      const ranked = rank(collected, query, (command) => command.title, shown)
      setShownNow({ query, matches: ranked })
      setSelected(0)
      if (wanted.current === query && ranked.length > 0) run(ranked[0]!.item)
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
          else if (event.key === 'Enter') onEnter(event.currentTarget.value)
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
