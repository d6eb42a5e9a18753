# What infra/upgrade and infra/restore share; each is in the checkout's folder when it reads this file.

# Of two that change the same containers, the second would take those of the first for old ones.
exec 9<infra
if ! flock --nonblock 9; then
    echo "$(basename "$0"): another infra/upgrade or infra/restore is at work here; begin again when it has ended" >&2
    exit 1
fi

say() {
    echo "$(basename "$0"): $*" >&2 || true # of a terminal that is gone
}

# Run a command without its output. If it fails, print its last five lines, name what failed (the first argument), and exit.
quietly() {
    what=$1
    shift
    if ! output=$("$@" 2>&1); then
        echo "$output" | tail -n 5 >&2
        say "$what failed; $after_failure"
        exit 1
    fi
}

# Compose, with the services that are asked for apart.
compose() {
    docker compose --profile backup --profile watch "$@"
}

# The containers of a service that run, one a line.
running() {
    compose ps --quiet --status running "$1"
}

# How many there are of a service; at least one, so that a service that is new, or had ended, comes too.
count() {
    found=$(running "$1" | wc -l)
    echo $((found > 0 ? found : 1))
}

# Those of the named services that run.
those_that_run() {
    for service in "$@"; do
        [ -z "$(running "$service")" ] || echo "$service"
    done
}

# Print what a template of Docker reads from a container.
inspect_container() {
    docker inspect --format "$2" "$1"
}
