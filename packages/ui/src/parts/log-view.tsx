/** Lines of a log, as text: the newest of them, and the beginning of those that are very long. */
import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount, formatTimeExactly, plural } from './format.ts'
import { piecesOf, withoutEscapes } from './log-text.ts'

export interface ShownLine {
  readonly at: number
  readonly text: string
  readonly node?: string
  readonly position?: number
}

/** Pixels from the end within which new lines are followed. */
const nearEnd = 120
/** Characters of a line that are shown at once: a line of a megabyte is not read, and holds the page. */
const shownCharacters = 4_000

interface LogViewProps {
  readonly lines: readonly ShownLine[]
  readonly label: string
  /** Lines of another day than this moment are shown with their day. */
  readonly near: number
  /** How many of the lines are shown, from the end. */
  readonly most: number
  /** Lines before the first of `lines`. */
  readonly dropped?: number
  /** Whether it begins at its end: lines still come. */
  readonly isLive?: boolean
  /** How to get at the lines that are not shown. */
  readonly hint?: string
  /** When absent, the nodes that wrote the lines are not shown. */
  readonly onNode?: (name: string) => void
}

export function LogView({
  lines,
  label,
  near,
  most,
  dropped = 0,
  isLive = false,
  hint = '',
  onNode,
}: LogViewProps): JSX.Element {
  const list = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(isLive)
  useLayoutEffect(() => {
    // Stays at the end, unless the reader has scrolled up.
    if (isAtEnd.current) list.current!.scrollTop = list.current!.scrollHeight
  }, [lines])
  const shown = lines.slice(-most)
  const left = lines.length - shown.length + dropped
  return (
    <>
      {left > 0 && (
        <p class="quiet log-note">
          The last {formatCount(shown.length)} of {plural(shown.length + left, 'line')}. {hint}
        </p>
      )}
      <pre
        class="code log"
        ref={list}
        tabIndex={0}
        aria-label={label}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd
        }}
      >
        {shown.map((line, index) => (
          <div key={line.position ?? index}>
            <time class="quiet">{formatTimeExactly(line.at, near)}</time>{' '}
            {line.node !== undefined && onNode !== undefined && (
              <>
                <button type="button" class="log-node" onClick={() => onNode(line.node!)}>
                  {line.node}
                </button>{' '}
              </>
            )}
            <Text text={line.text} />
          </div>
        ))}
      </pre>
    </>
  )
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false)
  if (isWhole || text.length <= shownCharacters) return <Pieces text={text} />
  return (
    <>
      <Pieces text={text.slice(0, shownCharacters)} />
      <button type="button" class="log-node" onClick={() => setWhole(true)}>
        … {plural(text.length - shownCharacters, 'more character')}
      </button>
    </>
  )
}

function Pieces({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {piecesOf(text).map((piece, index) =>
        piece.isLink ? (
          <a key={index} href={piece.text} target="_blank" rel="noreferrer">
            {piece.text}
          </a>
        ) : (
          piece.text
        ),
      )}
    </>
  )
}

/** What a button copies. */
export function textOfLines(lines: readonly ShownLine[], hasNodes = false): string {
  return lines
    .map(({ node, text }) => withoutEscapes(hasNodes ? `${node}: ${text}` : text))
    .join('\n')
}
