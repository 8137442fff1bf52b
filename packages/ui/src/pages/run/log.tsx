/** The log of a run or of one of its nodes: live, searched by the server, copied as text. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { readLog } from '../../api/runs.ts'
import { addLines, noLines, type LogLines } from '../../model/log-lines.ts'
import { LogView } from '../../parts/log-view.tsx'
import { useRefresh } from './refresh.ts'
import type { RunView } from './run-view.ts'

interface LogQuery {
  /** Only of this node. */
  readonly node?: string
  /** Only lines that contain this. */
  readonly q: string
}

interface FoundLog {
  /** Undefined until something is known. */
  readonly found: LogLines | undefined
  readonly error: unknown
  readonly reload: () => void
}

export function useLog(view: RunView, { node, q }: LogQuery): FoundLog {
  const found = useSignal<LogLines | undefined>(undefined)
  const { error, reload } = useRefresh(
    view,
    (signal) => {
      let after = 0
      // What was found for the text before stays until something is known of this one.
      let isFirst = true
      const query = { ...(node !== undefined && { node }), ...(q !== '' && { q }) }
      return async () => {
        for (let isMore = true; isMore;) {
          const page = await readLog(view.store.id, { ...query, after }, signal)
          found.value = addLines(isFirst ? noLines : (found.peek() ?? noLines), page.lines)
          isFirst = false
          after = page.next ?? page.position
          isMore = page.next !== null
        }
      }
    },
    [node, q],
  )
  return { found: found.value, error, reload }
}

interface RunLogProps {
  readonly view: RunView
  readonly log: LogLines
  readonly label: string
  readonly most: number
  readonly onNode?: (name: string) => void
}

export function RunLog({ view, log, label, most, onNode }: RunLogProps): JSX.Element {
  return (
    <LogView
      {...log}
      label={label}
      most={most}
      near={view.store.head.value?.started_at ?? 0}
      isLive={view.store.isLive}
      hint="Search looks at all of them."
      {...(onNode !== undefined && { onNode })}
    />
  )
}
