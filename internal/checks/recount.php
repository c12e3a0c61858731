<?php
// Comes before every program of PHP in a second run: has PHPUnit and Pest write down what they ran.
// recount.sh puts it there.
(function () {
    $folder = getenv('RALPH_RECOUNT');
    $args = $_SERVER['argv'] ?? [];
    if (!$folder || !preg_match('/^(phpunit|pest)(\.phar)?$/', basename($args[0] ?? ''))
        || preg_grep('/^--(version|help|list-|log-junit|check-version)/', $args)) {
        return;
    }
    $report = "$folder/php-" . getmypid();
    array_splice($_SERVER['argv'], 1, 0, ['--log-junit', $report]);
    register_shutdown_function(function () use ($folder, $report) {
        $xml = is_file($report) ? file_get_contents($report) : '';
        $n = preg_match_all('/<testcase /', $xml) - preg_match_all('/<skipped/', $xml);
        file_put_contents("$folder/counted", "Ran $n tests in 0s\n", FILE_APPEND);
    });
})();
