import { useSignal } from '@preact/signals'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'

/** An area to drop a file on, or to choose one. */
export function FileDrop({ onFile }: { onFile(file: File | undefined): void }) {
  const isOver = useSignal(false)
  return html.label(
    {
      class: isOver.value ? 'drop over' : 'drop',
      onDragOver: (event: DragEvent) => {
        event.preventDefault()
        isOver.value = true
      },
      onDragLeave: () => {
        isOver.value = false
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault()
        isOver.value = false
        onFile(event.dataTransfer?.files[0])
      },
    },
    html.span(null, say('Drop a spreadsheet or CSV file here, or choose one:'), ' '),
    html.input({
      type: 'file',
      accept: '.xlsx,.csv,.tsv,.txt,text/csv',
      onChange: ({ currentTarget }) => onFile(currentTarget.files?.[0]),
    }),
  )
}
