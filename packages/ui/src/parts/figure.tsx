/** A figure with its name, for the row at the top of a page. */
import type { ComponentChildren, JSX } from 'preact'

export function Figure({
  title,
  value,
  note = '',
}: {
  readonly title: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{title}</dt>
      <dd>
        {value} <small>{note}</small>
      </dd>
    </div>
  )
}
