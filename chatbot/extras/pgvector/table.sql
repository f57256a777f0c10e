-- The table of passages. Rows stay whole up to the page's size: vectors and terms kept apart make an exact search 3 times
-- slower. Tables of older releases get the last columns, empty until their reports are read again.
CREATE TABLE IF NOT EXISTS {table} (
    id text COLLATE "C" PRIMARY KEY,
    collection text NOT NULL,
    document_id text NOT NULL,
    document_name text NOT NULL,
    title text NOT NULL,
    section text NOT NULL,
    page integer,
    ordinal integer NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    text text NOT NULL,
    labels text[] NOT NULL,
    description text NOT NULL,
    metadata jsonb NOT NULL,
    terms tsvector NOT NULL,
    term_count integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (toast_tuple_target = 8160);
ALTER TABLE {table}
    ADD COLUMN IF NOT EXISTS figure_years integer[] NOT NULL DEFAULT '{{}}',
    ADD COLUMN IF NOT EXISTS url text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS language text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS confidence double precision,
    ADD COLUMN IF NOT EXISTS zone text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS statements jsonb;
